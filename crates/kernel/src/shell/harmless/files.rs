//! Programs that read, sort, search, copy and pack files, and builtins that set variables.
//!
//! Must never: list an option that executes a program or names a file to write.

use super::row::{HarmlessRow, Operands, OptionStyle};

/// In arithmetic, the index of an array is executed.
const EXECUTED: &[&str] = &["[", "$", "`", "("];

#[rustfmt::skip]
pub(super) const ROWS: &[HarmlessRow] = &[
    HarmlessRow {
        names: &["sort"],
        short: "bdfghiMnRrVcCmsuzk:t:S:",
        long: "--ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --human-numeric-sort --ignore-nonprinting \
               --month-sort --numeric-sort --random-sort --reverse --version-sort --check[=] --merge --stable --unique --zero-terminated \
               --key= --field-separator= --parallel= --buffer-size= --batch-size= --debug",
        operands: Operands::Any,
        allowed: &["sort a", "sort -u -k2,2n a b", "sort -rn", "sort -t: -k 3 a", "sort --key=2 --reverse a", "sort -- -x"],
        asked: &["sort -o a b", "sort -uo a b", "sort -oF a", "sort --output=F a", "sort --o=F a", "sort --out F", "sort --compress-program=x a",
            "sort --comp x a", "sort -T /x a", "sort --files0-from=x", "sort *", "sort -k $X a"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["uniq"],
        short: "cdDuizf:s:w:",
        long: "--count --repeated --unique --ignore-case --skip-fields= --skip-chars= --check-chars= --zero-terminated --all-repeated[=] --group[=]",
        operands: Operands::UpTo(1),
        allowed: &["uniq", "uniq -c a", "uniq -f 2 a", "uniq --count"],
        asked: &["uniq a b", "uniq - F", "uniq -c a F", "uniq -- a F", "uniq a*", "uniq -c - -- F"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["xxd"],
        short: "c:g:l:s:",
        long: "-a -b -e -i -u -p -ps -plain -postscript -r -revert -c= -cols= -g= -l= -len= -s= -seek= -h -v -version",
        style: OptionStyle::Words,
        operands: Operands::UpTo(1),
        allowed: &["xxd a", "xxd -p a", "xxd -l 16 a", "xxd -c8 a"],
        asked: &["xxd a b", "xxd -r a b", "xxd -r -p - F", "xxd -frob a"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["shuf"],
        short: "ern:i:z",
        long: "--echo --repeat --head-count= --input-range= --zero-terminated",
        operands: Operands::Any,
        allowed: &["shuf a", "shuf -n 3 a", "shuf -i 1-9"],
        asked: &["shuf -o F a", "shuf --out=F a", "shuf --random-source=x a"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["base64", "base32", "basenc"],
        short: "dDiw:",
        long: "--decode --ignore-garbage --wrap= --base64 --base32 --base16",
        operands: Operands::UpTo(1),
        allowed: &["base64 a", "base64 -d a", "base64 -w 0 a"],
        asked: &["base64 -o F a", "base64 -i a -o F", "base64 --output=F a"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["tree"],
        short: "adflipsughDFnCNqQtrvxASJXL:P:I:",
        long: "--dirsfirst --noreport --gitignore --prune --charset= --filelimit= --du --inodes --device --matchdirs --ignore-case",
        operands: Operands::Any,
        allowed: &["tree", "tree -L 2 src", "tree -a --dirsfirst", "tree -I target"],
        asked: &["tree -o F", "tree -aoF", "tree -R -H x -L 1", "tree --fromfile x", "tree --info"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["date"],
        short: "uRd:r:I::",
        long: "--utc --universal --date= --reference= --iso-8601[=] --rfc-3339= --rfc-email --debug",
        operands: Operands::Starting("+"),
        allowed: &["date", "date -u +%F", "date -d yesterday", "date -Iseconds"],
        asked: &["date a*", "date -s x", "date --set=x", "date --se x", "date 01010101", "date -us x", "date -f x"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["hostname"],
        short: "fdisIAa",
        long: "--fqdn --long --short --domain --ip-address --all-ip-addresses --all-fqdns --alias",
        allowed: &["hostname", "hostname -f", "hostname --short"],
        asked: &["hostname evil", "hostname -F f", "hostname -b x", "hostname --file f"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["file"],
        short: "bikLhNnprsv0e:F:P:",
        long: "--brief --mime --mime-type --mime-encoding --dereference --no-dereference --separator= --keep-going --raw --no-pad --extension",
        operands: Operands::Any,
        allowed: &["file a", "file -b --mime-type a", "file -L a b"],
        asked: &["file -C -m x", "file --compile", "file --comp -m x", "file -m x a", "file -f x", "file -z a", "file -S a"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["less", "more"],
        short: "NRSFXinegMmqQrsGwEfIuUWdlcp:#",
        long: "--LINE-NUMBERS --RAW-CONTROL-CHARS --chop-long-lines --quit-if-one-screen --no-init --ignore-case --quit-at-eof",
        operands: Operands::Without(&["+"]),
        allowed: &["less a", "less -N a", "less -FRX a", "more a"],
        asked: &["less +!x a", "less -o F a", "less -OF a", "less -k x a", "less --log-file=F a", "less --lesskey-f=x a", "less -T x a",
            "less --LOG-F=F a", "more +/x a", "less --use-color=x a"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["man", "apropos", "whatis"],
        short: "kfwaW",
        long: "--apropos --whatis --where --path --all",
        operands: Operands::Without(&["/"]),
        allowed: &["man ls", "man 5 passwd", "man -k copy", "man -w ls"],
        asked: &["man -P x ls", "man -Px ls", "man --pager=x ls", "man --pag x ls", "man -H ls", "man --html=x ls", "man -C x ls", "man -l x",
            "man ./evil.1", "man -M x ls", "man --config-file=x ls", "man -X ls", "man -T x ls", "man -p x ls"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["bat", "batcat"],
        short: "npPAdl:r:H:",
        long: "--plain --number --show-all --language= --line-range= --highlight-line= --style= --color= --decorations= --wrap= --theme= --tabs= \
               --list-themes --list-languages --diff --no-pager",
        phrases: &["--paging=never", "--paging never"],
        operands: Operands::Any,
        allowed: &["bat a", "bat -p a", "bat --paging=never -r 1:9 a"],
        asked: &["bat --pager=x a", "bat --pager x a", "bat --paging=always a", "bat cache --build", "bat --config-file a", "bat --generate-config-file"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["yq"],
        short: "rMCPNejo:p:I:",
        long: "--raw-output --prettyPrint --output-format= --input-format= --colors --no-colors --no-doc --unwrapScalar[=] --exit-status",
        operands: Operands::Any,
        allowed: &["yq .a f.yml", "yq -r .a f.yml", "yq -o json f.yml"],
        asked: &["yq -i .a=1 f.yml", "yq -ri .a f.yml", "yq --inplace .a f.yml", "yq --in-place .a f.yml", "yq -s .a f.yml", "yq --split-exp .a f.yml"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["xmllint"],
        long: "--noout --format --xpath= --nonet --recover --valid --wellformed --c14n --html --xmlout --schema= --version",
        style: OptionStyle::Words,
        operands: Operands::Any,
        allowed: &["xmllint --noout a.xml", "xmllint --format a.xml"],
        asked: &["xmllint --output F a.xml", "xmllint -o F a.xml", "xmllint --shell a.xml", "xmllint --load-trace a.xml"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["rg"],
        short: "FiSsvwxclLHINnpPqUuaho0A:B:C:e:g:m:t:T:j:r:M:d:",
        long: "--files --files-with-matches --files-without-match --count --count-matches --line-number --no-line-number --hidden --no-ignore \
               --no-ignore-vcs --ignore-case --smart-case --case-sensitive --fixed-strings --word-regexp --line-regexp --invert-match --multiline \
               --multiline-dotall --pcre2 --glob= --iglob= --type= --type-not= --type-list --max-count= --max-depth= --context= --after-context= \
               --before-context= --regexp= --color= --colors= --heading --no-heading --column --vimgrep --json --stats --sort= --sortr= --trim \
               --replace= --null --only-matching --passthru --pretty --quiet --text --unrestricted --with-filename --no-filename --no-messages \
               --no-config --max-columns= --max-columns-preview --max-filesize= --threads= --follow --one-file-system --crlf --encoding= --engine=",
        operands: Operands::Any,
        allowed: &["rg x", "rg -n x src", "rg -tpy -A 3 x", "rg --files -g '*.rs'", "rg -- --pre"],
        asked: &["rg --pre x y", "rg --pre=./x y", "rg --hostname-bin=./x y", "rg --hostname-bin ./x y", "rg -f x", "rg -z x", "rg --pre-glob=x y",
            "rg --search-zip x", "rg *"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["ag", "ack"],
        short: "ilLcwvQA:B:C:m:",
        long: "--ignore-case --literal --count --hidden --nocolor --noheading --nogroup --files-with-matches",
        operands: Operands::Any,
        allowed: &["ag x", "ack -i x src"],
        asked: &["ag --pager x y", "ag --pager=x y", "ack --pager=x y", "ack --output=x y", "ack --ackrc=x y", "ag -p x y"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["fd", "fdfind"],
        short: "HIuisgFapL01qd:e:t:E:S:c:j:",
        long: "--hidden --no-ignore --no-ignore-vcs --unrestricted --case-sensitive --ignore-case --glob --fixed-strings --absolute-path \
               --full-path --follow --print0 --max-depth= --min-depth= --exact-depth= --type= --extension= --exclude= --size= --changed-within= \
               --changed-before= --color= --max-results= --threads= --strip-cwd-prefix --relative-path --prune --quiet",
        operands: Operands::Any,
        allowed: &["fd", "fd x src", "fd -e rs", "fd -H -t f x"],
        asked: &["fd -x ./x", "fd -Hx ./x", "fd -X ./x", "fd --exec ./x", "fd --exec=./x", "fd --exec-batch ./x", "fd -l x", "fd -e o -x./x", "fd --exe ./x"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["find"],
        long: "-name= -iname= -path= -ipath= -wholename= -iwholename= -regex= -iregex= -regextype= -type= -xtype= -size= -empty -maxdepth= \
               -mindepth= -depth -mtime= -mmin= -atime= -amin= -ctime= -cmin= -newer= -anewer= -cnewer= -newermt= -perm= -user= -group= -uid= -gid= \
               -nouser -nogroup -links= -inum= -samefile= -lname= -ilname= -readable -writable -executable -prune -print -print0 -printf= -ls -quit \
               -not -a -and -o -or -true -false -xdev -mount -follow -daystart -noleaf -ignore_readdir_race -warn -nowarn -L -P -H -fstype= -used= \
               -exec -ok",
        style: OptionStyle::Words,
        operands: Operands::Any,
        allowed: &["find . -name '*.rs'", "find . -type f -newer a", "find . \\( -name a -o -name b \\) -print", "find . -maxdepth 2 -size +1k -ls"],
        asked: &["find . -delete", "find . -fprint F", "find . -fprintf F x", "find . -fls F", "find . -fprint0 F", "find . -exec ./x ;",
            "find . -execdir sh x +", "find . -execdir find {} +", "find . -okdir find {} \\;", "find . -files0-from x", "find $X", "find . -name a -frob", "find . -exec xargs -I + sh -c x \\;"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["split"],
        short: "dxuea:b:l:n:C:",
        long: "--lines= --bytes= --number= --numeric-suffixes[=] --suffix-length= --verbose",
        operands: Operands::UpTo(1),
        allowed: &["split -l 100 a", "split -b 1k a", "split -n 3 -d a"],
        asked: &["split --filter=x a", "split --filter x a", "split --fil=x a", "split -l 1 a F", "split --f=x a", "split -l1 --filter='sh -c x' a"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["tee"],
        short: "ai",
        long: "--append --ignore-interrupts",
        operands: Operands::Below,
        allowed: &["tee", "tee out.txt", "tee -a log/x", "tee /dev/null"],
        asked: &["tee /etc/x", "tee ../x", "tee -p x", "tee ~/x", "tee a*", "tee /dev/fd/../x", "tee build/../../x"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["cp"],
        short: "aRrpfinuvxLPHTd",
        long: "--recursive --archive --force --interactive --no-clobber --update[=] --verbose --preserve[=] --no-preserve= --parents --dereference \
               --no-dereference --one-file-system --reflink[=] --sparse= --no-target-directory --attributes-only",
        operands: Operands::Below,
        allowed: &["cp a b", "cp -r src dst", "cp -a a b", "cp --preserve=mode a b"],
        asked: &["cp a /x", "cp a ../x", "cp -t /x a", "cp --target-directory=/x a", "cp --targ /x a", "cp -S x a b", "cp --suffix=x a b", "cp a ~/x"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["mv"],
        short: "finuvT",
        long: "--force --interactive --no-clobber --update[=] --verbose --no-target-directory",
        operands: Operands::Below,
        allowed: &["mv a b", "mv -n a b"],
        asked: &["mv a /x", "mv -t ../x a", "mv --target-directory ../x a", "mv -S x a b", "mv --exchange a b"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["ln"],
        short: "sfnvirT",
        long: "--symbolic --force --no-dereference --verbose --relative --no-target-directory",
        operands: Operands::Below,
        allowed: &["ln -s a b", "ln a b"],
        asked: &["ln -s /etc x", "ln -s ../x y", "ln -t /x a", "ln -sf a ~/x", "ln --suffix=x a b"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["install"],
        short: "dvpCDm:",
        long: "--directory --verbose --preserve-timestamps --compare --mode=",
        operands: Operands::Below,
        allowed: &["install -m 644 a b", "install -d build"],
        asked: &["install a /x", "install -s --strip-program=./x a b", "install --strip-p=./x -s a b", "install -t /x a", "install -o root a b"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["tar", "bsdtar"],
        short: "cxtzjJavpkmOhwSf:",
        long: "--create --extract --get --list --gzip --gunzip --bzip2 --xz --zstd --verbose --file= --exclude= --strip-components= --keep-old-files \
               --no-same-owner --no-same-permissions --to-stdout --wildcards --exclude-vcs --totals --numeric-owner --sort= --owner= --group= \
               --format= --auto-compress --dereference --null --no-recursion",
        style: OptionStyle::Bundle,
        operands: Operands::Any,
        values_without: &[":"],
        allowed: &["tar tf a.tar", "tar -tzvf a.tgz", "tar xzf a.tgz", "tar -cf a.tar src", "tar --list --file=a.tar"],
        asked: &["tar xf a --checkpoint-action=exec=sh", "tar xf a --checkpoint=1 --checkpoint-act=exec=x", "tar xf a --to-command=x", "tar xf a --to-c=x",
            "tar -I x -xf a", "tar xIf x a", "tar cfI a x b", "tar -xf a -Ix", "tar --use-compress-program=x -xf a", "tar --use-c x -tf a", "tar -F x -xf a",
            "tar --info-script=x -xf a", "tar --rsh-command=x -xf h:a", "tar -xf h:a", "tar --index-file=F -tf a", "tar --index-f=F -tvf a", "tar -T x -cf a",
            "tar --files-from=x -cf a", "tar -C / -xf a", "tar -Pxf a", "tar --absolute-names -xf a", "tar -g F -cf a b", "tar --listed-inc=F -cf a b",
            "tar --volno-file=F -cf a b", "tar xf a --one-top-level=/x", "tar -X x -cf a b", "tar --new-volume-script=x -cf a b", "tar --transform=x -xf a",
            "tar xf a *"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["zip"],
        short: "rqvjyXu#",
        long: "--recurse-paths --quiet --verbose --junk-paths --symlinks",
        operands: Operands::Below,
        allowed: &["zip a.zip b", "zip -r a.zip src", "zip -9rq a.zip src"],
        asked: &["zip -TT x -T a.zip b", "zip -T -TT 'sh #' a.zip b", "zip a.zip b -T --unzip-command=x", "zip -T --unzip-c x a.zip b", "zip -TTx a.zip b",
            "zip -rTT x a.zip b", "zip -O F a.zip b", "zip --out F a.zip b", "zip -lf F a.zip b", "zip --logfile-path F a.zip b", "zip /x/a.zip b", "zip -m a b",
            "zip -@ a", "zip -b /x a b"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["unzip"],
        short: "lvtqonjpuC",
        operands: Operands::Any,
        allowed: &["unzip -l a.zip", "unzip a.zip", "unzip -p a.zip b"],
        asked: &["unzip a.zip -d /x", "unzip -d/x a.zip", "unzip -: a.zip", "unzip -K a.zip", "unzip -Z a.zip", "unzip *"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd"],
        short: "cdklnqtvf#",
        long: "--stdout --to-stdout --decompress --keep --list --test --verbose --force --best --fast --quiet",
        operands: Operands::Below,
        allowed: &["gzip -c a", "gzip -dk a.gz", "xz -9 a", "zstd -d a.zst"],
        asked: &["gzip -S x a", "gzip ../a", "zstd -o F a", "zstd --output-dir-flat=/x a", "xz --files=x", "gzip -r /x", "xz -Sx a", "zstd -oF a"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["patch"],
        short: "RNfstEbunclp:i:",
        long: "--dry-run --forward --reverse --strip= --unified --batch --force --silent --quiet --input= --verbose",
        operands: Operands::Below,
        allowed: &["patch -p1", "patch --dry-run -p1 -i a.diff", "patch a.txt a.diff"],
        asked: &["patch -o F a b", "patch --output=F a", "patch -r F a", "patch -e a b", "patch --ed a b", "patch -d / -p1", "patch --directory=/ -p1",
            "patch -B x a", "patch --reject-file=F a"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["read"],
        short: "rsen:N:t:d:u:p:a:",
        operands: Operands::Without(EXECUTED),
        values_without: EXECUTED,
        allowed: &["read x", "read -r -t 5 line", "read -ra words"],
        asked: &["read 'a[$(x)]'", "read -r 'a[`x`]'", "read -a 'a[$(x)]'", "read -ra'a[$(x)]'", "read -i x", "read a[0$(x)]"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["readarray", "mapfile"],
        short: "tn:O:s:d:u:",
        operands: Operands::Without(EXECUTED),
        values_without: EXECUTED,
        allowed: &["readarray lines", "mapfile -t lines", "readarray -t -n 3 lines"],
        asked: &["readarray -C x -c 1 a", "readarray -Cx a", "readarray -tC x a", "mapfile -c1 -C 'x;' a", "mapfile -O 'a[$(x)]' b", "mapfile 'a[$(x)]'"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["let"],
        operands: Operands::Without(EXECUTED),
        allowed: &["let x=1+2", "let x++"],
        asked: &["let 'a[$(x)]'", "let 'x=a[$(x)]'", "let 'a[`x`]=1'", "let a[x]", "let x=$Y"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["unset", "declare", "typeset", "local", "export", "readonly", "wait", "getopts"],
        short: "fvxrgpaAlu",
        operands: Operands::Without(EXECUTED),
        allowed: &["unset x", "declare -x", "wait 12", "export -p"],
        asked: &["unset 'a[$(x)]'", "declare 'a[$(x)]=1'", "declare -i x", "declare -n x=y", "typeset -i 'x=a[$(x)]'", "export -n 'a[$(x)]'",
            "readonly 'a[`x`]=1'", "local -n x", "wait -p 'a[$(x)]'"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["hash"],
        short: "rlt",
        operands: Operands::Any,
        allowed: &["hash -r", "hash ls"],
        asked: &["hash -p ./x ls", "hash -p./x ls", "hash -rp ./x ls", "hash -d ls"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["test", "["],
        long: "-a -b -c -d -e -f -g -h -k -p -r -s -t -u -w -x -G -L -N -O -S -z -n -o -eq -ne -lt -le -gt -ge -nt -ot -ef",
        style: OptionStyle::Words,
        operands: Operands::Without(&["[$", "[`", "$(", "`"]),
        allowed: &["test -f a", "test a = b", "test 1 -lt 2", "test -n x -a -d y"],
        asked: &["test -v 'a[$(x)]'", "[ -v 'a[$(x)]' ]", "test -R 'a[$(x)]'", "[ 'a[$(x)]' -eq 1 ]", "test -v x"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["printf"],
        operands: Operands::Any,
        allowed: &["printf '%s\\n' a", "printf -- '-v'"],
        asked: &["printf -v 'a[$(x)]' y", "printf -v'a[$(x)]' y", "printf -v x y"],
        ..HarmlessRow::NOTHING
    },
];
