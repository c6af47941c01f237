//! git: subcommands without a row are never harmless, as they may be an alias.
//!
//! Repository settings and hooks are protected elsewhere; operands and options that name a program,
//! another repository with hooks, or a file to write are not listed.
//!
//! Must never: list `-c`, `-C`, or any option that git passes to a shell.

use super::row::{HarmlessRow, Operands};

/// Options of `log` and `diff`, which most displaying commands share.
const SHOWS: &str = "--oneline --graph --decorate[=] --no-decorate --all --branches[=] --tags[=] --remotes[=] --stat[=] --numstat --shortstat --dirstat[=] --summary \
    --name-only --name-status --patch --no-patch --raw --patch-with-stat --format= --pretty[=] --abbrev-commit --no-abbrev-commit --abbrev[=] --date= --since= \
    --until= --after= --before= --author= --committer= --grep= --invert-grep --all-match --regexp-ignore-case --extended-regexp --fixed-strings --perl-regexp \
    --merges --no-merges --first-parent --reverse --max-count= --skip= --follow --cached --staged --merge-base --word-diff[=] --word-diff-regex= \
    --color-words[=] --color[=] --no-color --unified= --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-space-at-eol --minimal --patience \
    --histogram --diff-algorithm= --diff-filter= --no-renames --find-renames[=] --find-copies[=] --full-index --binary --exit-code --quiet --no-ext-diff \
    --no-textconv --no-index --relative[=] --no-prefix --src-prefix= --dst-prefix= --function-context --inter-hunk-context= --pickaxe-regex --pickaxe-all \
    --topo-order --date-order --author-date-order --left-right --cherry-pick --cherry --cherry-mark --boundary --simplify-by-decoration --full-history \
    --ancestry-path[=] --source --notes[=] --no-notes --mailmap --use-mailmap --no-mailmap --count --objects --parents --children --submodule[=] \
    --ignore-submodules[=] --compact-summary --check --cc --walk-reflogs --text --ws-error-highlight= --color-moved[=] --no-color-moved --ignore-cr-at-eol";

#[rustfmt::skip]
pub(super) const ROWS: &[HarmlessRow] = &[
    HarmlessRow {
        names: &["git"],
        short: "Pvh",
        long: "--no-pager --no-replace-objects --bare --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --no-optional-locks --no-lazy-fetch \
               --no-advice --html-path --man-path --info-path --exec-path",
        operands: Operands::Subcommand,
        allowed: &["git", "git --no-pager log", "git -P status", "git --exec-path"],
        asked: &["git -c core.pager=x log", "git -ccore.pager=x log", "git -C d status", "git --exec-path=x status", "git --git-dir=x log", "git --work-tree=/ status", "git --config-env=a=b log",
            "git -p log", "git --namespace x log", "git frobnicate", "git difftool", "git difftool -yx ./x", "git difftool -x./x", "git difftool -x ./x", "git difftool --extcmd=./x",
            "git difftool -y --ext ./x", "git mergetool", "git instaweb", "git send-email x", "git filter-branch --tree-filter x", "git filter-branch --tree-f x HEAD", "git daemon", "git svn init x", "git p4 x",
            "git hook run x", "git for-each-repo --config=x y", "git maintenance run", "git credential fill", "git upload-pack x", "git help log", "git gc", "git fast-export x", "git replace --edit x",
            "git am x", "git format-patch HEAD~1", "git format-patch -o d HEAD~1", "git notes add", "git update-index --index-info", "git shell -c x", "git http-backend", "git citool", "git gui",
            "git web--browse x", "git range-diff --output=F a b", "git --super-prefix=x log", "git $X", "git column --command=x"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git status"],
        short: "sbvu::z",
        long: "--short --branch --show-stash --porcelain[=] --long --verbose --untracked-files[=] --ignored[=] --ignore-submodules[=] --column[=] --no-column --ahead-behind \
               --no-ahead-behind --renames --no-renames --null",
        operands: Operands::Any,
        allowed: &["git status", "git status -sb", "git status --porcelain=v2 src", "git status -uno"],
        asked: &["git status --frob", "git status --por --frob", "git status -x"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git log", "git show", "git diff", "git whatchanged", "git diff-tree", "git diff-index", "git diff-files", "git rev-list", "git reflog show", "git stash list", "git stash show",
            "git range-diff"],
        short: "puswbazqcmiEFPRWgtr#n:U:S:G:L:I:l:M::C::B::X::",
        long: SHOWS,
        operands: Operands::Any,
        allowed: &["git log --oneline -5", "git diff --stat HEAD~1", "git show -s --format=%H", "git log -p -n 3 -- src", "git log --since=yesterday", "git stash list", "git log -S x", "git diff -U10 a b"],
        asked: &["git log --output=F", "git log --outp=F", "git log --output F", "git diff --output=F", "git diff --ext-diff", "git diff --ext", "git log --textconv", "git show --textc", "git log -O x",
            "git diff -Ox", "git diff --output-indicator-new=x", "git log --show-signature", "git log --stdin", "git log --remerge-diff", "git log -d x", "git diff --o=F", "git show --ou=F HEAD",
            "git rev-list --disk-usage=x HEAD", "git stash show --output=F", "git log *"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git reflog"],
        short: "q#n:",
        operands: Operands::Subcommand,
        allowed: &["git reflog", "git reflog -5", "git reflog show --oneline"],
        asked: &["git reflog expire --expire=now", "git reflog delete HEAD@{1}", "git reflog --output=F", "git reflog show --output=F"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git shortlog"],
        short: "nsecw::",
        long: "--numbered --summary --email --committer --group= --format= --no-merges --merges --all --since= --until= --author= --date=",
        operands: Operands::Any,
        allowed: &["git shortlog -sn", "git shortlog -sne --all"],
        asked: &["git shortlog --output=F", "git shortlog --frob"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git rev-parse", "git ls-files", "git ls-tree"],
        short: "qcdmosuktvzirlx:",
        long: "--show-toplevel --abbrev-ref[=] --short[=] --verify --is-inside-work-tree --git-dir --git-common-dir --show-prefix --show-cdup --absolute-git-dir --is-bare-repository \
               --symbolic-full-name --all --branches[=] --tags[=] --quiet --is-shallow-repository --cached --deleted --modified --others --stage --unmerged --killed --exclude-standard --exclude= \
               --full-name --error-unmatch --directory --eol --deduplicate --recurse-submodules --name-only --name-status --full-tree --long --abbrev[=] --format=",
        operands: Operands::Any,
        allowed: &["git rev-parse HEAD", "git rev-parse --abbrev-ref HEAD", "git ls-files -o --exclude-standard", "git ls-tree -r HEAD"],
        asked: &["git rev-parse --parseopt", "git rev-parse --sq-quote x", "git ls-files -X x", "git ls-files --exclude-from=x", "git rev-parse --resolve-git-dir x"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git cat-file", "git blame", "git annotate"],
        short: "tspelwfnbcL:M::C::",
        long: "--date= --porcelain --line-porcelain --incremental --show-email --show-name --show-number --root --abbrev= --color-lines --ignore-rev= --batch-check[=]",
        operands: Operands::Any,
        allowed: &["git blame -L 1,5 a", "git cat-file -p HEAD", "git blame -w a"],
        asked: &["git cat-file --textconv HEAD:a", "git cat-file --filters HEAD:a", "git blame --contents x a", "git blame -S x a", "git blame --ignore-revs-file=x a", "git cat-file --textc HEAD:a"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git describe", "git name-rev", "git merge-base", "git show-ref", "git for-each-ref", "git count-objects", "git check-ignore", "git check-attr", "git cherry", "git show-branch", "git var",
            "git version"],
        short: "avqdnzlHs",
        long: "--tags --all --long --always --dirty[=] --abbrev[=] --match= --exclude= --contains[=] --exact-match --first-parent --name-only --octopus --is-ancestor --fork-point --heads --head --verify \
               --hash[=] --format= --sort= --count= --merged[=] --no-merged[=] --points-at= --non-matching --no-index --verbose --cached --build-options --human-readable --branches",
        operands: Operands::Any,
        allowed: &["git describe --tags --always", "git merge-base a b", "git for-each-ref --count=3", "git check-ignore -v a", "git show-ref --heads", "git version"],
        asked: &["git describe --frob", "git fsck", "git symbolic-ref HEAD x", "git for-each-ref --stdin", "git check-ignore --stdin", "git verify-commit HEAD"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git grep"],
        short: "nilLcwvFEPqhHaIrpWoe:A:B:C:m:#",
        long: "--line-number --ignore-case --files-with-matches --name-only --count --word-regexp --fixed-strings --extended-regexp --perl-regexp --cached --untracked --no-index --recurse-submodules \
               --and --or --not --all-match --color[=] --no-color --heading --break --show-function --function-context --context= --after-context= --before-context= --max-depth= --threads= --column \
               --only-matching --quiet --text --full-name --invert-match --max-count= --exclude-standard --no-exclude-standard",
        operands: Operands::Any,
        allowed: &["git grep x", "git grep -n -i x src", "git grep -e x --and -e y"],
        asked: &["git grep -O x", "git grep -O./x y", "git grep -nO./x y", "git grep --open-files-in-pager=./x y", "git grep --open=./x y", "git grep --op y", "git grep -f x", "git grep --textconv x", "git grep --ext-grep x"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git add"],
        short: "vnfAuN",
        long: "--all --update --verbose --dry-run --force --intent-to-add --no-all --ignore-removal --refresh --renormalize --chmod= --sparse",
        operands: Operands::Any,
        allowed: &["git add .", "git add -A", "git add -u src", "git add src/*.rs"],
        asked: &["git add -e", "git add --edit", "git add -p", "git add -i", "git add --interactive", "git add --pathspec-from-file=x", "git add -ve", "git add *"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git commit"],
        short: "aqvsm:C:F:",
        long: "--all --message= --quiet --verbose --signoff --amend --no-edit --allow-empty --allow-empty-message --dry-run --short --porcelain --author= --date= --reset-author --fixup= --cleanup= \
               --status --no-status --only --include --no-gpg-sign --file=",
        operands: Operands::Any,
        allowed: &["git commit -m x", "git commit -am x", "git commit --amend --no-edit", "git commit -qm 'x y'"],
        asked: &["git commit -S", "git commit -Sx -m y", "git commit --gpg-sign=x -m y", "git commit -e -m x", "git commit --edit -m x", "git commit -t x", "git commit --template=x", "git commit -c HEAD",
            "git commit -n -m x", "git commit --no-verify -m x", "git commit --trailer x=y -m z", "git commit -p", "git commit -me --no-ver"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git branch", "git tag"],
        short: "avrqlim:n::",
        long: "--all --remotes --list --show-current --verbose --contains[=] --no-contains[=] --merged[=] --no-merged[=] --points-at= --sort= --format= --column[=] --no-color --color[=] --track[=] \
               --no-track --quiet --ignore-case --annotate --message=",
        operands: Operands::Any,
        allowed: &["git branch", "git branch -a", "git branch -vv", "git branch x", "git tag", "git tag -a v1 -m x", "git branch --show-current"],
        asked: &["git branch --edit-description", "git branch --edit-d", "git branch -D x", "git branch -d x", "git branch -f a b", "git tag -d v1", "git tag -f v1", "git tag -s v1", "git tag -u x v1",
            "git tag --local-user=x v1", "git tag --verify v1", "git branch -u x", "git tag -F x v1"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git stash"],
        short: "ukaqm:",
        long: "--include-untracked --keep-index --all --quiet --message=",
        operands: Operands::Subcommand,
        allowed: &["git stash", "git stash -u", "git stash -m x"],
        asked: &["git stash drop", "git stash clear", "git stash -p", "git stash --patch", "git stash frob", "git stash --pathspec-from-file=x"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git stash push", "git stash save", "git stash pop", "git stash apply"],
        short: "ukaqm:",
        long: "--include-untracked --keep-index --all --quiet --message= --index",
        operands: Operands::Any,
        allowed: &["git stash push -m x", "git stash pop", "git stash apply --index"],
        asked: &["git stash push -p", "git stash push --patch", "git stash push --pathspec-from-file=x"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git fetch", "git pull"],
        short: "apPtqvn46r",
        long: "--all --prune --prune-tags --tags --no-tags --quiet --verbose --depth= --deepen= --shallow-since= --unshallow --dry-run --progress --no-progress --jobs= --ipv4 --ipv6 \
               --no-recurse-submodules --atomic --rebase[=] --ff-only --ff --no-ff --no-rebase --autostash --no-edit --no-commit",
        operands: Operands::Without(&[":"]),
        allowed: &["git fetch", "git fetch origin", "git pull --rebase", "git fetch -p --all", "git pull --ff-only origin main"],
        asked: &["git fetch --upload-pack=./x", "git fetch --upload-pack ./x", "git fetch --upload ./x", "git fetch --up=./x origin", "git fetch 'ext::sh -c x'", "git fetch ext::x", "git fetch ssh://h/x",
            "git fetch h:x", "git fetch origin a:b", "git pull --upload-pack=./x", "git pull -s x", "git pull --strategy=x", "git fetch --server-option=x", "git fetch --refmap=x", "git pull ext::x",
            "git fetch --recurse-submodules", "git pull -S", "git pull --gpg-sign=x", "git fetch --negotiation-tip=x", "git fetch -o x", "git pull --exec x"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git push"],
        short: "qvnu46",
        long: "--quiet --verbose --dry-run --set-upstream --tags --follow-tags --porcelain --progress --no-progress --atomic --ipv4 --ipv6",
        allowed: &["git push", "git push -q", "git push --tags"],
        asked: &["git push --receive-pack=./x", "git push --receive ./x", "git push --rec=./x origin", "git push --exec=./x", "git push --ex ./x", "git push ./evil", "git push ext::x main", "git push evil main",
            "git push -f", "git push --force", "git push -o x", "git push --push-option=x", "git push --no-verify", "git push --signed", "git push --mirror", "git push -d origin x", "git push --repo=./evil",
            "git push --repo ./evil", "git push https://h/x main", "git push --recurse-submodules=on-demand"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git clone"],
        short: "qvn46b:",
        long: "--depth= --branch= --single-branch --no-single-branch --quiet --verbose --no-checkout --no-tags --shallow-since= --filter= --progress --sparse",
        operands: Operands::Without(&["::", "../"]),
        values_without: &["::"],
        allowed: &["git clone https://h/x", "git clone --depth 1 https://h/x", "git clone -b main https://h/x"],
        asked: &["git clone -u cmd h:x", "git clone -u./x h", "git clone -uc h", "git clone -qu ./x h", "git clone --upload-pack=./x h", "git clone --upload ./x h", "git clone -c core.sshCommand=x h",
            "git clone -ccore.sshCommand=x h", "git clone --config core.sshCommand=x h", "git clone --conf x=y h", "git clone -qc x=y h", "git clone --template=d h", "git clone --templ d h", "git clone 'ext::sh -c x' d",
            "git clone ext::x", "git clone --recurse-submodules h", "git clone --separate-git-dir=d h", "git clone h ../d", "git clone --reference d h", "git clone --bundle-uri=x h", "git clone -o x h",
            "git clone --server-option=x h", "git clone --bare h"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git remote"],
        short: "v",
        long: "--verbose",
        operands: Operands::Subcommand,
        allowed: &["git remote", "git remote -v"],
        asked: &["git remote add x ext::y", "git remote set-url origin x", "git remote rename a b", "git remote update", "git remote prune origin", "git remote set-head origin x"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git remote show", "git remote get-url", "git ls-remote"],
        short: "nhtq",
        long: "--all --push --heads --tags --refs --quiet --exit-code --sort= --symref --get-url",
        operands: Operands::Without(&[":"]),
        allowed: &["git remote get-url origin", "git ls-remote --heads origin", "git remote show -n origin"],
        asked: &["git ls-remote ext::x", "git ls-remote --upload-pack=./x h", "git ls-remote --upload ./x h", "git ls-remote --exec=./x h", "git ls-remote --exec ./x h", "git ls-remote --ex=./x h",
            "git remote show ext::x", "git ls-remote h:x", "git ls-remote -o x h"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git checkout", "git switch", "git restore"],
        short: "qbcdtSWs:",
        long: "--quiet --detach --track[=] --no-track --staged --worktree --source= --ours --theirs --guess --no-guess --orphan --progress --no-progress --ignore-skip-worktree-bits",
        operands: Operands::Any,
        allowed: &["git checkout main", "git checkout -b x", "git switch -c x", "git restore --staged a", "git checkout -- a"],
        asked: &["git checkout -f main", "git checkout -p", "git switch --discard-changes x", "git restore -p", "git checkout --recurse-submodules x", "git checkout --pathspec-from-file=x", "git checkout --conflict=x"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git merge", "git cherry-pick", "git revert"],
        short: "qvnm:",
        long: "--abort --continue --quit --skip --no-commit --no-ff --ff-only --ff --squash --no-edit --quiet --verbose --stat --no-stat --allow-unrelated-histories",
        operands: Operands::Any,
        allowed: &["git merge main", "git merge --no-ff -m x b", "git cherry-pick HEAD~1", "git revert --no-edit HEAD", "git merge --abort"],
        asked: &["git merge -s x b", "git merge -sx b", "git merge --strategy=x b", "git merge --strat x b", "git merge -S b", "git merge --gpg-sign=x b", "git revert -e HEAD", "git cherry-pick -e x", "git merge --edit x",
            "git merge -F x b", "git cherry-pick --gpg-s=x y"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git rebase"],
        short: "qv",
        long: "--abort --continue --skip --quit --onto= --autostash --no-autostash --quiet --verbose --stat --no-stat --keep-base --root --rebase-merges[=] --no-rebase-merges --autosquash --no-autosquash \
               --update-refs --committer-date-is-author-date --empty= --reapply-cherry-picks --fork-point --apply --merge",
        operands: Operands::Any,
        allowed: &["git rebase main", "git rebase --onto a b", "git rebase --continue", "git rebase -q main"],
        asked: &["git rebase -x 'touch F' HEAD~1", "git rebase -x'touch F' HEAD~1", "git rebase -xx HEAD~1", "git rebase -fx 'touch F' HEAD~1", "git rebase -qx 'touch F' HEAD~1", "git rebase -qxtouch HEAD~1",
            "git rebase --exec x HEAD~1", "git rebase --exec=x HEAD~1", "git rebase --exe=x HEAD~1", "git rebase --ex x HEAD~1", "git rebase -i HEAD~1", "git rebase --interactive HEAD~1", "git rebase -s x y",
            "git rebase --strategy=x y", "git rebase -S y", "git rebase --gpg-sign=x y", "git rebase --edit-todo", "git rebase -X x y", "git rebase -C1 y", "git rebase -vix y", "git rebase HEAD~1 -x y"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git reset", "git mv", "git rm"],
        short: "qNknvr",
        long: "--soft --mixed --quiet --no-refresh --intent-to-add --cached --dry-run --ignore-unmatch --verbose",
        operands: Operands::Any,
        allowed: &["git reset HEAD a", "git mv a b", "git rm --cached a", "git reset --soft HEAD~1"],
        asked: &["git reset --hard", "git reset -p", "git rm -f a", "git mv -f a b", "git reset --pathspec-from-file=x", "git reset --recurse-submodules x"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git init"],
        short: "qb:",
        long: "--quiet --initial-branch=",
        operands: Operands::Below,
        allowed: &["git init", "git init -q d", "git init -b main"],
        asked: &["git init --template=d", "git init --templ=d", "git init --separate-git-dir=d", "git init --bare d", "git init ../d", "git init --shared d"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git worktree", "git submodule", "git bisect", "git bundle"],
        short: "q",
        long: "--quiet --cached",
        operands: Operands::Subcommand,
        allowed: &["git submodule", "git submodule -q"],
        asked: &["git submodule foreach x", "git submodule -q foreach x", "git submodule --quiet foreach x", "git submodule foreach --recursive x", "git submodule add ext::x", "git submodule update --init",
            "git submodule update --remote", "git bisect run x", "git bisect view", "git bisect visualize", "git bisect start --term-new=x", "git bundle create F HEAD", "git worktree add ../x", "git worktree remove x",
            "git submodule set-url a b", "git submodule deinit x", "git submodule absorbgitdirs"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git worktree list", "git submodule status", "git submodule summary", "git bisect log", "git bisect good", "git bisect bad", "git bisect skip", "git bundle verify", "git bundle list-heads"],
        short: "vz",
        long: "--porcelain --verbose --recursive --cached",
        operands: Operands::Any,
        allowed: &["git worktree list", "git submodule status --recursive", "git bisect good", "git bundle verify a"],
        asked: &["git worktree list --frob", "git bundle verify -x a"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git config"],
        short: "z",
        long: "--global --local --system --worktree --show-origin --show-scope --name-only --null --type= --bool --int --path --includes --no-includes --default=",
        needs: &["--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l"],
        operands: Operands::Any,
        allowed: &["git config --get user.name", "git config --list", "git config -l --show-origin", "git config --global --get user.email"],
        asked: &["git config core.pager x", "git config alias.x '!y'", "git config -e", "git config --edit", "git config --add a b", "git config set a b", "git config --unset a", "git config --file F a b", "git config -f F a b",
            "git config --default --get core.pager x", "git config --get --replace-all a b", "git config user.name"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git archive", "git apply"],
        short: "vRlp:",
        long: "--format= --prefix= --list --verbose --check --stat --numstat --summary --reverse --index --cached --3way --whitespace=",
        operands: Operands::Any,
        allowed: &["git archive HEAD", "git archive --format=tar HEAD", "git apply --check a.diff", "git apply -p1 a.diff"],
        asked: &["git archive -o F HEAD", "git archive -oF HEAD", "git archive --output=F HEAD", "git archive --out=F HEAD", "git archive --remote=ext::x HEAD", "git archive --exec=./x --remote=h HEAD", "git archive --exec ./x HEAD",
            "git apply --unsafe-paths a", "git apply --build-fake-ancestor=F a", "git apply --directory=.. a"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["git clean"],
        short: "dxXq",
        needs: &["-n", "--dry-run", "-nd", "-ndx", "-dn", "-dnx", "-xdn"],
        operands: Operands::Any,
        allowed: &["git clean -n", "git clean -d --dry-run", "git clean -nd"],
        asked: &["git clean -fd", "git clean -d", "git clean -nf", "git clean -n -f", "git clean -i", "git clean -n --force"],
        ..HarmlessRow::NOTHING
    },
];
