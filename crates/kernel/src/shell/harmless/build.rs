//! Compilers, build tools, test runners and package managers.
//!
//! A rule for their name covers their usual work: compiling, and running the project's targets,
//! tests and scripts. It does not cover another program, rules file or directory.
//!
//! Must never: list an option that names a program, a plugin, a settings file or a file to write.

use super::row::{DoubleDash, HarmlessRow, Operands, OptionStyle};

#[rustfmt::skip]
pub(super) const ROWS: &[HarmlessRow] = &[
    HarmlessRow {
        names: &["make", "gmake"],
        short: "nksqBidrRpwtj::l:W:",
        long: "--dry-run --just-print --keep-going --silent --quiet --question --always-make --ignore-errors --print-directory --no-print-directory --trace \
               --jobs[=] --output-sync[=] --warn-undefined-variables --no-builtin-rules --touch",
        operands: Operands::Without(&["="]),
        allowed: &["make", "make test", "make -j4 all", "make -n build", "make --jobs=2 -k test"],
        asked: &["make -E x", "make -E 'all:;x'", "make --eval=x", "make --ev x", "make --eval x", "make -f x", "make -fx", "make --file=x", "make --makef x", "make -C d",
            "make -Cd", "make --directory=d", "make -I d", "make SHELL=./x", "make CC=./x all", "make -n SHELL=./x", "make -nf x", "make -sE x", "make -kC d", "make .SHELLFLAGS=x",
            "make MAKEFLAGS=x", "make 'x:=$(shell x)'", "make 'x!=x'", "make -ne x", "make --environment-overrides"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["rake"],
        short: "nqstTPvAW::",
        long: "--dry-run --quiet --silent --trace[=] --tasks --prereqs --all --verbose",
        operands: Operands::Without(&["="]),
        allowed: &["rake", "rake test", "rake -T"],
        asked: &["rake -e x", "rake -ex", "rake -ne x", "rake --execute x", "rake -E x", "rake -p x", "rake --execute-print x", "rake -f x", "rake --rakefile x", "rake -r x",
            "rake --require x", "rake -I d", "rake -R d", "rake --rakelib d", "rake -C d", "rake RUBYOPT=-rx test", "rake -g x", "rake --exec x"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["ninja", "just"],
        short: "vnqj:k:l:",
        long: "--list --verbose --quiet --dry-run --summary",
        operands: Operands::Without(&["="]),
        allowed: &["ninja", "ninja -j 4 all", "just --list", "just test"],
        asked: &["ninja -C d", "ninja -f x", "ninja -t x", "just -f x", "just --justfile x", "just --shell x", "just --set a b", "just -d d", "just a=b test", "just --command x",
            "just -c x", "just --edit", "just --choose", "just --chooser x"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["gcc", "cc", "g++", "c++", "clang", "clang++", "tcc"],
        short: "I:D:U:O::l:L:g::",
        long: "-Wall -Wextra -Wpedantic -Werror -pedantic -w -c -S -E -v -fsyntax-only -fPIC -fno-common -pthread -std= -m32 -m64 -march= -mtune= -static -shared -pipe \
               -Wshadow -Wconversion -Wno-unused -ansi -dumpversion -dumpmachine",
        style: OptionStyle::Words,
        operands: Operands::Without(&["@"]),
        allowed: &["gcc -Wall -O2 -c a.c", "gcc a.c", "clang -fsyntax-only -I include a.c", "gcc -std=c11 -DX=1 a.c", "gcc -dumpversion"],
        asked: &["gcc -wrapper x a.c", "gcc -wrapper x,y a.c", "gcc -B d a.c", "gcc -Bd a.c", "gcc -fplugin=x a.c", "gcc -specs=x a.c", "gcc --specs=x a.c", "gcc -o F a.c", "gcc -oF a.c",
            "gcc @x", "gcc -Wl,-rpath,x a.c", "gcc -Wp,-MD,F a.c", "gcc -Xlinker x a.c", "gcc -MF F -MD a.c", "gcc -fuse-ld=x a.c", "gcc -aux-info F a.c", "gcc -save-temps a.c",
            "gcc -include x a.c", "clang -Xclang -load -Xclang x a.c", "gcc -fdump-tree-all=F a.c", "gcc -no-canonical-prefixes a.c", "gcc --output=F a.c", "gcc-12 -wrapper x a.c",
            "gcc -x c -", "gcc -iplugindir=x a.c", "clang --config x a.c", "clang -fpass-plugin=x a.c", "gcc -dumpdir F a.c"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["cargo"],
        short: "Vqv",
        long: "--list --quiet --verbose --locked --offline --frozen --color=",
        operands: Operands::Subcommand,
        allowed: &["cargo -V", "cargo --list"],
        asked: &["cargo --config x build", "cargo --config=x build", "cargo -Z x build", "cargo -C d build", "cargo +x build", "cargo install a", "cargo publish", "cargo frob",
            "cargo fix", "cargo add a", "cargo login"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["cargo build", "cargo check", "cargo test", "cargo bench", "cargo doc", "cargo run", "cargo nextest", "cargo b", "cargo c", "cargo t", "cargo r", "cargo nextest run",
            "cargo nextest list"],
        short: "qvrp:j:F:E:",
        long: "--quiet --verbose --release --workspace --all --package= --exclude= --lib --bins --bin= --examples --example= --tests --test= --benches --bench= --all-targets \
               --features= --all-features --no-default-features --jobs= --profile= --locked --offline --frozen --keep-going --no-run --no-fail-fast --no-deps --doc \
               --message-format= --color= --document-private-items --future-incompat-report --ignore-rust-version",
        operands: Operands::Any,
        dashes: DoubleDash::Program,
        allowed: &["cargo test -p x", "cargo build --release", "cargo test a -- --nocapture", "cargo nextest run -p x y", "cargo check --workspace", "cargo run -- a"],
        asked: &["cargo test --config x", "cargo build --config=build.rustc=x", "cargo build --conf x", "cargo test --manifest-path x", "cargo build --manifest-path=x", "cargo build -Z x",
            "cargo build --target-dir=F", "cargo build --target-dir F", "cargo build --out-dir F", "cargo build --artifact-dir=F", "cargo build -C d", "cargo run --target x", "cargo doc --open",
            "cargo build --timings", "cargo build --unit-graph", "cargo bench --frob"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["cargo clippy", "cargo fmt", "cargo tree", "cargo metadata", "cargo version", "cargo search", "cargo audit", "cargo outdated"],
        short: "qvp:e:i:",
        long: "--quiet --verbose --check --all --workspace --package= --all-targets --all-features --no-default-features --features= --tests --lib --bins --locked --offline --frozen \
               --release --no-deps --format-version= --depth= --invert= --duplicates --edges= --message-format= --color= --keep-going",
        phrases: &["-- -D warnings", "-- -Dwarnings", "-- --check"],
        allowed: &["cargo clippy --all-targets", "cargo clippy -- -D warnings", "cargo fmt --check", "cargo tree -p x", "cargo fmt -- --check"],
        asked: &["cargo clippy --fix", "cargo clippy --config=x", "cargo fmt -- --config-path x", "cargo clippy -- -C linker=x", "cargo metadata --manifest-path=x", "cargo tree --target x",
            "cargo fmt --manifest-path x", "cargo clippy -- -D warnings -C linker=x"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["go"],
        operands: Operands::Subcommand,
        allowed: &["go --help"],
        asked: &["go run x.go", "go generate", "go install a", "go get a", "go tool x", "go -C d build", "go env -w A=b", "go mod edit -replace=a=b", "go work use d", "go frob"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["go build", "go test", "go vet", "go list", "go version", "go doc", "go env"],
        long: "-v -x -n -a -race -short -cover -json -failfast -m -u -test -deps -e -run= -count= -timeout= -tags= -bench= -benchtime= -p= -parallel= -cpu= -covermode= -trimpath -f=",
        style: OptionStyle::Words,
        operands: Operands::Any,
        allowed: &["go test ./...", "go test -v -run X ./a", "go build ./...", "go vet ./...", "go test -count=1 ./a"],
        asked: &["go test -exec x ./a", "go test -exec=x ./a", "go test --exec=x ./a", "go build -toolexec x", "go build -toolexec=x", "go vet -vettool=x", "go build -o F", "go build -o=F", "go test -c -o F",
            "go build -ldflags=-extld=x", "go build -gccgoflags x", "go build -overlay=x", "go build -modfile=x", "go test -coverprofile=F", "go test -cpuprofile F", "go test -outputdir d",
            "go env -w A=b", "go build -C d", "go test -args x", "go build -compiler=x", "go build -pkgdir=d", "go build -asmflags=x", "go test -trace F", "go build -pgo=x"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["npm", "pnpm", "yarn"],
        short: "v",
        operands: Operands::Subcommand,
        allowed: &["npm -v", "npm --version"],
        asked: &["npm install", "npm i a", "npm ci", "npm exec x", "npm x a", "npm --script-shell=x test", "npm --prefix d test", "npm config set a b", "npm publish", "npm init x", "npm pack", "npm set a=b",
            "yarn add a", "pnpm dlx x", "npm --userconfig=x test", "npm explore a -- x", "npm edit a"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["npm test", "npm t", "npm run", "npm run-script", "npm ls", "npm list", "npm view", "npm outdated", "npm why", "pnpm test", "pnpm run", "pnpm ls", "pnpm list",
            "pnpm outdated", "yarn test", "yarn run", "yarn list", "yarn outdated"],
        short: "sag",
        long: "--silent --json --all --long --parseable --if-present --workspaces --workspace= --global --depth=",
        operands: Operands::Any,
        dashes: DoubleDash::Program,
        allowed: &["npm test", "npm run build", "npm run test -- --watch", "npm ls --depth=0", "yarn test"],
        asked: &["npm run build --script-shell=x", "npm run build --script-shell x", "npm test --node-options=x", "npm test --prefix=d", "npm run x --shell=x", "npm audit fix", "npm audit", "npm test -C d",
            "npm ls --userconfig=x", "npm test --ignore-scripts=false", "npm view --viewer x a", "npm run --scripts-prepend-node-path=x a"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["pip"],
        short: "V",
        operands: Operands::Subcommand,
        allowed: &["pip3 --version", "pip -V", "pip --version"],
        asked: &["pip install a", "pip install -r x", "pip3 install .", "pip download a", "pip --python x list", "pip --log F list", "pip config set a b", "pip --config=x list", "pip wheel a",
            "pip config edit --editor x", "pip --proxy x list", "pip uninstall a", "pip cache purge"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["pip list", "pip show", "pip freeze", "pip check"],
        short: "lofuqv",
        long: "--local --outdated --uptodate --user --format= --files --verbose --quiet --not-required --disable-pip-version-check",
        operands: Operands::Any,
        allowed: &["pip list", "pip3 show -f a", "pip freeze", "pip list --format=json"],
        asked: &["pip list --log=F", "pip list --log F", "pip freeze -r x", "pip list --python=x", "pip list --index-url=x", "pip list --lo F", "pip show --cert f a"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["pytest", "py.test"],
        short: "vqxslk:m:n:r:",
        long: "--lf --ff --nf --sw --tb= --maxfail= --collect-only --co --durations= --no-header --no-summary --verbose --quiet --exitfirst --last-failed --failed-first --strict-markers \
               --color= --disable-warnings --showlocals --stepwise --deselect= --ignore= --capture=",
        operands: Operands::Any,
        allowed: &["pytest", "pytest -q tests", "pytest -k a -x", "pytest --tb=short tests/a.py"],
        asked: &["pytest -p x", "pytest -px", "pytest -c x", "pytest --rootdir=d", "pytest --junitxml=F", "pytest --junit-x F", "pytest --basetemp=d", "pytest -o a=b", "pytest --pdbcls=x:y",
            "pytest --confcutdir=d", "pytest --log-file=F", "pytest --debug=F", "pytest --pastebin=all", "pytest --import-mode=x", "pytest -qp x"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["eslint", "prettier", "tsc", "mypy", "ruff", "black", "flake8", "jest", "vitest"],
        short: "hq",
        long: "--check --noEmit --quiet --pretty --strict --list-different --color --no-color --version --silent --verbose --ci",
        operands: Operands::Any,
        allowed: &["eslint src", "tsc --noEmit", "black --check .", "ruff check src"],
        asked: &["eslint --fix src", "eslint -c x src", "eslint --config x src", "eslint --rulesdir d src", "eslint -o F src", "eslint --resolve-plugins-relative-to d src", "eslint -f ./x src",
            "prettier --write src", "prettier --plugin=./x src", "prettier --config x src", "tsc --outDir d", "tsc -p x", "mypy --config-file x", "mypy --python-executable x a", "ruff check --fix src",
            "jest --config x", "jest --globalSetup=./x", "jest -c x", "vitest --config x", "flake8 --output-file=F", "tsc --generateTrace d", "mypy --install-types"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["mvn", "gradle", "gradlew", "ant", "sbt", "dotnet", "msbuild", "swift", "xcodebuild", "rustc", "javac", "ghc", "stack", "cabal", "zig", "nix", "tox", "nox", "invoke", "fab", "gulp",
            "grunt", "webpack", "vite", "esbuild", "rollup", "lerna", "nx", "turbo", "rustup"],
        short: "qv",
        operands: Operands::Without(&["=", "@", "/", ".", "!"]),
        allowed: &["mvn test", "gradle build", "dotnet test", "ant", "stack build"],
        asked: &["mvn -f x test", "mvn -Dexec.executable=x exec:exec -s x", "gradle -I x build", "gradle --init-script x build", "gradle -b x", "ant -f x", "ant -lib d", "rustc -C linker=x a.rs", "rustc a.rs",
            "javac -processorpath d a.java", "ghc -F -pgmF x a.hs", "nix --option a b", "tox -c x", "esbuild a.js --outfile=F", "webpack --config x", "sbt '!x'", "dotnet test --settings x", "xcodebuild -project x"],
        ..HarmlessRow::NOTHING
    },
];
