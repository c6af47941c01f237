//! Programs that reach the network.
//!
//! Must never: list an option that sends a file, saves one, or reads options from one.

use super::row::{HarmlessRow, Operands};

#[rustfmt::skip]
pub(super) const ROWS: &[HarmlessRow] = &[
    HarmlessRow {
        names: &["curl"],
        short: "sSfLiIvgN046m:A:r:H:w:",
        long: "--silent --show-error --fail --fail-with-body --location --include --head --verbose --globoff --no-buffer --max-time= \
               --connect-timeout= --user-agent= --range= --header= --write-out= --compressed --http1.1 --http2 --ipv4 --ipv6 --retry= --retry-delay= \
               --retry-max-time= --retry-connrefused --retry-all-errors --max-redirs= --max-filesize= --no-progress-meter --progress-bar --tlsv1.2 \
               --tlsv1.3 --fail-early --url=",
        phrases: &["-X GET", "-X HEAD", "-X OPTIONS", "-XGET", "-XHEAD", "--request GET", "--request HEAD", "--request=GET", "-o /dev/null",
            "-so /dev/null", "-sSo /dev/null", "--output /dev/null", "-o -"],
        values_without: &["@", "%output"],
        operands: Operands::Any,
        allowed: &["curl https://x", "curl -fsSL https://x", "curl -s -o /dev/null -w '%{http_code}' https://x", "curl -H 'Accept: a' https://x",
            "curl -X GET https://x", "curl -I --max-time 5 https://x"],
        asked: &["curl -o F https://x", "curl -sSoF https://x", "curl -O https://x", "curl --out F https://x", "curl -D F https://x", "curl --dump-h F https://x",
            "curl --dump-header=F https://x", "curl --trace-a F https://x", "curl --trace F https://x", "curl --libcurl F https://x", "curl --libc F https://x",
            "curl --hsts F https://x", "curl --alt-svc F https://x", "curl --stderr F https://x", "curl --stde F https://x", "curl -c F https://x",
            "curl --cookie-j F https://x", "curl --etag-save F https://x", "curl -T f https://x", "curl -Tf https://x", "curl --upload f https://x",
            "curl --upload-file f https://x", "curl -d @f https://x", "curl -sd@f https://x", "curl --data-u x@f https://x", "curl --data-urlencode x@f https://x",
            "curl --data-b @f https://x", "curl --json @f https://x", "curl --js @f https://x", "curl -F x=@f https://x", "curl --form x=@f https://x",
            "curl -K f https://x", "curl -Kf https://x", "curl --conf f", "curl --config f", "curl --config=f", "curl -H @f https://x", "curl -H@f https://x",
            "curl --header @f https://x", "curl --url-query x=@f https://x", "curl --url-query @f https://x", "curl --variable x@f https://x", "curl -b f https://x",
            "curl --cookie f https://x", "curl -w '%output{F}x' https://x", "curl -w @f https://x", "curl -X POST https://x", "curl -XDELETE https://x",
            "curl -x http://p https://x", "curl --proxy http://p https://x", "curl -u a:b https://x", "curl -n https://x", "curl --netrc-file f https://x",
            "curl -E f https://x", "curl --engine x https://x", "curl -Q x ftp://x", "curl --unix-socket f https://x", "curl --resolve x https://x",
            "curl --next https://x", "curl -: https://x", "curl --output-dir d -O https://x", "curl --create-dirs -o a/b https://x", "curl -J -O https://x",
            "curl -sfLOJ https://x", "curl *"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["wget"],
        short: "qSv46t:T:U:",
        long: "--quiet --server-response --verbose --no-verbose --tries= --timeout= --user-agent= --header= --max-redirect= --inet4-only --inet6-only",
        needs: &["-O -", "-O-", "-qO-", "-qO -", "--output-document=-", "--output-document -", "--spider"],
        operands: Operands::Any,
        allowed: &["wget -qO- https://x", "wget --spider https://x", "wget -q -O - https://x"],
        asked: &["wget https://x", "wget -O F https://x", "wget -OF https://x", "wget -P d https://x", "wget -qO- --post-file=f https://x",
            "wget -qO- --post-f f https://x", "wget -qO- --body-file=f https://x", "wget -o F -O- https://x", "wget --output-file=F -qO- https://x",
            "wget -a F -qO- https://x", "wget -qO- -e use_proxy=on https://x", "wget -qO- --execute x https://x", "wget --use-askpass=x -qO- https://x",
            "wget -i f", "wget --config=f -qO- https://x", "wget -U -O- https://x", "wget -qO- --save-cookies=F https://x", "wget -m https://x",
            "wget -qO- --rejected-log=F https://x", "wget -- -O- https://x", "wget -qO- --warc-file=F https://x"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["tcpdump"],
        short: "nveXxAtqSlDi:c:s:r:",
        operands: Operands::Any,
        allowed: &["tcpdump -n -c 5", "tcpdump -i lo port 80", "tcpdump -r a.pcap"],
        asked: &["tcpdump -z x", "tcpdump -nz x", "tcpdump -w F", "tcpdump -nwF", "tcpdump -F x", "tcpdump -G 1 -w F -z x", "tcpdump -Z root", "tcpdump -C 1"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["ssh", "slogin"],
        short: "V",
        phrases: &["-V"],
        allowed: &["ssh -V"],
        asked: &["ssh h", "ssh -oProxyCommand=x h", "ssh -o ProxyCommand=x h", "ssh -F f h", "ssh -o LocalCommand=x -o PermitLocalCommand=yes h",
            "ssh h ls", "ssh -E F h", "ssh -I x h", "ssh -Vo ProxyCommand=x h", "ssh -4oProxyCommand=x h", "ssh h -oProxyCommand=x", "ssh -J h x",
            "ssh -S x h", "ssh -oKnownHostsCommand=x h", "ssh -w 0 h", "ssh -G h"],
        ..HarmlessRow::NOTHING
    },
    HarmlessRow {
        names: &["scp", "sftp", "rsync", "ftp", "lftp", "tftp", "nc", "ncat", "netcat", "socat", "telnet", "aria2c", "http", "https", "xh", "lynx", "w3m",
            "links", "elinks", "openssl", "gpg", "gpg2", "nmap", "mail", "mailx", "mutt", "sendmail", "ssh-keygen", "ssh-add", "ssh-agent", "ssh-copy-id",
            "autossh", "sshfs", "mosh", "rclone", "unison", "restic", "borg"],
        allowed: &["rsync --version", "scp --help", "openssl --version"],
        asked: &["rsync -e x a h:b", "rsync -ex a h:b", "rsync -ae 'sh x' a h:b", "rsync --rsh=x a h:b", "rsync --rs x a h:b", "rsync --rsync-path=x a h:b",
            "rsync a b", "rsync -a f evil:", "rsync --daemon --config=x", "rsync --log-file=F a b", "rsync --files-from=x a b", "rsync -n a b",
            "rsync --write-batch=F a b", "scp -S x a h:b", "scp -oProxyCommand=x a h:b", "scp f evil:", "scp -o ProxyCommand=x a h:b", "scp -D x a h:b",
            "sftp -b f h", "sftp -oProxyCommand=x h", "sftp -S x h", "nc -e x h 1", "ncat -c x h 1", "ncat --sh-exec x h 1", "socat EXEC:x -", "socat - EXEC:x",
            "ftp -n", "lftp -c x", "openssl enc -out F", "openssl engine x", "openssl rand -out F 1", "gpg -o F f", "gpg --exec x", "gpg --photo-viewer x",
            "nmap --script x h", "nmap -oN F h", "mail -s x evil", "ssh-keygen -D ./x.so", "ssh-keygen -f F", "ssh-agent x", "mutt -e x", "aria2c -o F u",
            "aria2c --on-download-complete=x u", "http -d u", "http --download u", "w3m -config x u", "lynx -cfg=x u", "telnet h"],
        ..HarmlessRow::NOTHING
    },
];
