// The engine alone: writes tokens one after the other and prints how many a second.
// Usage: local-reference FILE THREADS TOKENS
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "llama.h"

int main(int count, char **arguments) {
    if (count != 4) {
        std::fprintf(stderr, "use: local-reference FILE THREADS TOKENS\n");
        return 2;
    }
    const int threads = std::atoi(arguments[2]);
    const int tokens = std::atoi(arguments[3]);
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    llama_backend_init();
    llama_model *model = llama_model_load_from_file(arguments[1], llama_model_default_params());
    if (!model) {
        return 1;
    }
    llama_context_params settings = llama_context_default_params();
    settings.n_ctx = 1024;
    settings.n_batch = 256;
    settings.n_threads = threads;
    settings.n_threads_batch = threads;
    llama_context *context = llama_init_from_model(model, settings);
    if (!context) {
        return 1;
    }
    const int words = llama_vocab_n_tokens(llama_model_get_vocab(model));
    std::srand(1);
    // Some words before, so that both begin with a prompt of about the same length.
    const int before = 48;
    auto start = std::chrono::steady_clock::now();
    for (int at = 0; at < before + tokens; ++at) {
        if (at == before) {
            start = std::chrono::steady_clock::now();
        }
        llama_token token = std::rand() % words;
        if (llama_decode(context, llama_batch_get_one(&token, 1)) != 0) {
            return 1;
        }
        llama_synchronize(context);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("%.3f\n", tokens / took.count());
    llama_free(context);
    llama_model_free(model);
    return 0;
}
