//! Programs that execute input: shells, interpreters, editors, debuggers, databases, containers.
//!
//! A rule for their name alone covers almost no arguments; it must name the script or subcommand.
//!
//! Must never: list an option after which code, a script or a file with commands follows.

use super::row::{HarmlessRow, Operands};

#[rustfmt::skip]
pub(super) const ROWS: &[HarmlessRow] = &[
    HarmlessRow {
        names: &["sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "mksh", "rbash", "yash", "csh", "tcsh", "source", ".", "perl", "ruby", "node",
            "nodejs", "bun", "deno", "php", "lua", "luajit", "Rscript", "R", "osascript", "pwsh", "powershell", "tclsh", "wish", "expect", "java", "scala",
            "groovy", "ghci", "runghc", "runhaskell", "irb", "iex", "erl", "elixir", "julia", "guile", "racket", "sbcl", "clisp", "ocaml", "swipl",
            "gnuplot", "octave", "m4", "dc", "ts-node", "tsx", "npx", "bunx", "pipx", "uvx", "uv", "poetry", "pipenv", "run-parts", "entr", "setarch",
            "linux32", "linux64", "proot", "choom", "prlimit", "numactl", "cgexec", "firejail", "bwrap", "setpriv", "runcon", "capsh", "valgrind", "perf",
            "start-stop-daemon", "parallel", "xterm", "dbus-launch", "torify", "softlimit", "unbuffer", "logsave", "ansible", "ansible-playbook"],
        operands: Operands::Program,
        allowed: &["bash --version", "node --version", "perl --version"],
        asked: &["bash", "perl -", "bash x.sh", "bash -n +n x", "bash +n x", "bash -n x", "sh ./x", "bash --rcfile x -i", "bash -rcfile x -i", "bash --init-file x", "zsh x", "fish -C x",
            "perl -e x", "perl x.pl", "perl -Mx", "perl -d x", "ruby -e x", "ruby -rx y", "node -e x", "node x.js", "node -r ./x", "node --require=./x",
            "node --import ./x", "deno run x", "deno eval x", "bun x", "php -r x", "php x.php", "lua -e x", "lua x.lua", "npx x", "uv run x", "m4 x", "dc -e x",
            "source ./x", ". ./x", "expect -c x", "java -jar x.jar", "irb x", "run-parts d", "entr x", "valgrind x", "bwrap x", "osascript -e x", "perf record x"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["python", "pypy"],
        short: "uBEIsSqvOb",
        operands: Operands::Program,
        needs: &["-V", "-VV"],
        allowed: &["python3 --version", "python -V", "python3 -VV"],
        asked: &["python3", "python3 -u", "python3 -c x", "python3 -uc x", "python3 -m x", "python3 -mx", "python3 x.py", "python3 -", "python3 -i", "python3 -Wx y", "python3 -X x y",
            "python3.11 -c x", "python3 -B x.py", "python3 -Ic 'x'", "python3 .", "python3 -u ./x"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["vim", "vi", "view", "vimdiff", "gvim", "rvim", "nvim", "ex", "ed", "red", "emacs", "emacsclient", "nano", "pico", "joe", "micro", "kak", "hx", "mcedit",
            "gdb", "lldb", "cgdb", "sqlite", "sqlite3", "psql", "mysql", "mariadb", "mongo", "mongosh", "redis-cli", "duckdb", "screen", "tmux", "script",
            "scriptreplay", "su", "sudo", "doas", "runuser", "sg", "pkexec", "flock", "at", "batch", "ld", "as", "objcopy", "strip", "dd", "cpio", "mount",
            "fusermount", "systemd-run", "ltrace", "strace", "pandoc", "convert", "magick", "mogrify", "ffmpeg", "gs", "tex", "latex", "pdftex", "pdflatex",
            "xelatex", "lualatex", "bibtex", "dvips", "groff", "troff", "compgen", "fc", "history", "dpkg", "rpm", "apt", "apt-get", "yum", "dnf", "apk", "pacman",
            "brew", "snap", "flatpak", "logrotate", "terraform", "helm", "vagrant", "packer", "open", "xdg-open", "xdotool", "ctags", "indent", "cmake", "meson", "bazel",
            "gem", "bundle", "composer", "cpan", "msgfilter", "7z", "7za", "rar", "unrar", "ip", "iptables", "nft", "zsoelim", "busctl", "gdbus", "loginctl", "machinectl",
            "ldconfig", "nsenter", "unshare", "chroot", "firefox", "chromium", "google-chrome", "jshell", "install-info", "update-alternatives"],
        operands: Operands::Nothing,
        allowed: &["vim --version", "sqlite3 --version", "gdb --version"],
        asked: &["vim", "psql", "vim -c x a", "vim -c ':!x' a", "vim +x a", "vim '+!x' a", "vim --cmd x a", "vim -S x", "vim -u x a", "vim -w F a", "vim a", "vi -cx a", "view -c x a",
            "nvim --headless -c x", "ex -c x", "ed a", "ed -s a", "emacs --batch --eval x", "emacs -Q --batch -l x", "nano -s x a", "nano a", "sqlite3 a.db .shell",
            "sqlite3 a.db '.shell x'", "sqlite3 -cmd '.system x' a.db", "sqlite3 a.db", "sqlite3 -init x a.db", "sqlite3 a.db \"select writefile('F', 1)\"",
            "gdb -ex 'shell x'", "gdb -ex shell", "gdb -x x", "gdb --batch -ex x", "gdb --eval-command=x", "gdb a", "lldb -o x", "psql -c '\\! x'", "mysql -e '\\! x'",
            "script -c x F", "script -qc x", "script F", "su -c x", "flock F x", "at -f x now", "dd if=a of=F", "dd of=F", "cpio -o", "strace x", "pandoc --filter x a",
            "pandoc -o F a", "ffmpeg -i a F", "pdflatex --shell-escape a", "compgen -C x", "compgen -W '$(x)'", "fc -e x", "history -w F", "apt -o x=y update",
            "apt-get -o APT::Update::Pre-Invoke::=x update", "terraform apply", "cmake -P x", "cmake -E x", "tmux new x", "screen x", "ld -o F a", "objcopy a F",
            "7z x a", "ip netns exec a b", "rpm --eval '%(x)'", "rpm -E '%(x)'"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["crontab"],
        short: "l",
        allowed: &["crontab -l"],
        asked: &["crontab F", "crontab -e", "crontab -", "crontab -r", "crontab -lu x"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["watch"],
        short: "dtbegcn:",
        long: "--interval= --no-title --beep --errexit --chgexit --color",
        operands: Operands::Followed,
        allowed: &["watch -n 1"],
        asked: &["watch ls", "watch -x ./x", "watch -n 1 ./x", "watch -dx ./x", "watch --exec ./x", "watch -q 1 ./x"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["docker", "podman"],
        short: "v",
        operands: Operands::Subcommand,
        allowed: &["docker -v"],
        asked: &["docker run a", "docker exec a b", "docker -H x ps", "docker --config x ps", "docker --context=x ps", "docker build .", "docker compose up",
            "docker cp a b", "docker save -o F a", "docker plugin install a"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["docker ps", "docker images", "docker logs", "docker version", "docker info", "docker inspect", "docker top", "docker port", "docker diff",
            "podman ps", "podman images", "podman logs", "podman version", "podman info", "podman inspect", "podman top", "podman port", "podman diff"],
        short: "aqlsftn:",
        long: "--all --quiet --latest --size --no-trunc --filter= --format= --tail= --since= --until= --timestamps --details --follow --type=",
        operands: Operands::Any,
        allowed: &["docker ps -a", "docker logs --tail 9 web", "docker inspect -f x web"],
        asked: &["docker ps --host=x", "docker logs --log-driver x web", "docker images --frob"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["kubectl"],
        operands: Operands::Subcommand,
        allowed: &["kubectl --help"],
        asked: &["kubectl exec a -- x", "kubectl --kubeconfig=x get a", "kubectl --kubeconfig x get a", "kubectl apply -f x", "kubectl plugin a", "kubectl cp a b",
            "kubectl edit a", "kubectl proxy"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["kubectl get", "kubectl describe", "kubectl logs", "kubectl top", "kubectl version", "kubectl explain", "kubectl api-resources", "kubectl cluster-info"],
        short: "Awn:l:o:c:",
        long: "--all-namespaces --namespace= --selector= --output= --container= --watch --tail= --since= --show-labels --no-headers --sort-by= --previous --timestamps",
        operands: Operands::Any,
        allowed: &["kubectl get pods -A", "kubectl logs web --tail=9", "kubectl get pod -n a -o yaml"],
        asked: &["kubectl get pods --kubeconfig=x", "kubectl get -f x", "kubectl get pods -s x", "kubectl get --server=x pods", "kubectl cluster-info --cache-dir=F",
            "kubectl get --profile-output=F pods"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["systemctl"],
        short: "aqln:t:",
        long: "--no-pager --all --quiet --full --lines= --type= --state= --user --system --no-legend --failed --plain",
        operands: Operands::Subcommand,
        allowed: &["systemctl", "systemctl --failed"],
        asked: &["systemctl start a", "systemctl edit a", "systemctl -H h status", "systemctl --host=h status", "systemctl --root=x status", "systemctl set-environment A=b",
            "systemctl link x", "systemctl enable x", "systemctl -M x status"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["systemctl status", "systemctl is-active", "systemctl is-enabled", "systemctl is-failed", "systemctl list-units", "systemctl list-unit-files",
            "systemctl list-timers", "systemctl list-dependencies", "systemctl show", "systemctl cat"],
        short: "aqln:t:p:",
        long: "--no-pager --all --quiet --full --lines= --type= --state= --user --system --property= --value --no-legend --plain --failed --reverse",
        operands: Operands::Any,
        allowed: &["systemctl status nginx", "systemctl --no-pager list-units -a", "systemctl show -p A nginx"],
        asked: &["systemctl status -H h", "systemctl status --host=h a", "systemctl show --root=x a", "systemctl cat --frob a"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["journalctl"],
        short: "rbkxafqmn:u:t:p:o:S:U:g:",
        long: "--no-pager --reverse --boot[=] --dmesg --all --follow --quiet --lines= --unit= --identifier= --priority= --output= --since= --until= --grep= --user --system \
               --list-boots --disk-usage --no-hostname --utc --case-sensitive[=]",
        operands: Operands::Any,
        allowed: &["journalctl -u nginx -n 50", "journalctl --since=today --no-pager"],
        asked: &["journalctl --vacuum-size=1", "journalctl --rotate", "journalctl --cursor-file=F", "journalctl --cursor-f F", "journalctl -D x", "journalctl --root=x",
            "journalctl --setup-keys", "journalctl --file=x", "journalctl --flush"],
        ..HarmlessRow::NOTHING
    },
];
