package release

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// installed are the lines that install.sh prints for each kind of package, in their order, besides the
// output of its programs.
var installed = map[string][]string{
	"deb": {"removed\nsame data\nsame settings\n", "purged\nno data\nno settings\nno user\n"},
	"rpm": {"removed\nsame data\nsame settings\n"},
	"apk": {"new-checkout true\n", "removed\nsame data\nstopped\n"},
}

// The package installs as on the page, and its service starts and decides a flag. Upgrade and removal
// keep the data and the settings, and purging deletes both.
func TestPackage_Debian(t *testing.T) { installs(t, "deb", "README.md", "dpkg -i") }

// So does the package for systems with rpm.
func TestPackage_RPM(t *testing.T) { installs(t, "rpm", "INSTALL.md", "rpm -U") }

// So does the package for Alpine, whose service OpenRC starts, restarts after an upgrade and stops before
// a removal.
func TestPackage_Alpine(t *testing.T) { installs(t, "apk", "INSTALL.md", "apk add --allow-untrusted") }

func installs(t *testing.T, kind, page, begin string) {
	t.Helper()
	dir, texts, line := scratch(t), t.TempDir(), command(t, page, "sudo "+begin)
	vars := []string{"DIR=" + dir, "KIND=" + kind, "START=" + serviceCommand(t), "ADDRESS=" + freeAddress(t)}
	for _, name := range []string{"upper", "work", "root", "packages", "openrc"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if kind == "apk" {
		downloadOpenRC(t, filepath.Join(dir, "openrc"))
	}
	program := program(t)
	run(t, exec.Command("./texts", texts, program))
	version := regexp.MustCompile(`_([0-9.]+)_`).FindStringSubmatch(line)[1]
	for variable, version := range map[string]string{"INSTALL": version, "UPGRADE": "99.0.0"} {
		path := pack(t, kind, filepath.Join(dir, "packages"), program, texts, version)
		if variable == "INSTALL" && os.Getenv("TEST_DIST") != "" {
			copyFile(t, released(t, filepath.Base(path)), path)
		}
		vars = append(vars, fmt.Sprintf("%s=%s %s", variable, begin, filepath.Base(path)))
	}
	out := isolated(t, vars, "decide.sh", "install.sh")
	permissions := "/var/lib/bunting bunting:bunting 700\n/etc/bunting/bunting.json root:bunting 640\n"
	for _, want := range append([]string{
		"installed " + version + "\n", "/usr/share/man/man1/bunting.1\n", permissions, "new-checkout true\n", "upgraded 99.0.0\n", "same data\n", permissions,
	}, installed[kind]...) {
		before, after, found := strings.Cut(out, want)
		if !found {
			t.Fatalf("%s\nwant %q after this:\n%s", out, want, before)
		}
		out = after
	}
}

// isolated runs scripts, as one, in namespaces of their own, with variables, and returns their output.
// They need privileges.
func isolated(t *testing.T, vars []string, scripts ...string) string {
	t.Helper()
	var text strings.Builder
	for _, name := range scripts {
		script, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(script)
	}
	cmd := privileged(t.Context(), append(append([]string{"env"}, vars...), "unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-euc", text.String())...)
	cmd.WaitDelay = time.Minute
	return run(t, cmd)
}

// privileged returns a command that runs as root.
func privileged(ctx context.Context, args ...string) *exec.Cmd {
	if os.Geteuid() != 0 {
		args = append([]string{"sudo", "-n"}, args...)
	}
	return exec.CommandContext(ctx, args[0], args[1:]...)
}

// scratch returns a folder in which root may write, and deletes it at the end of the test. A test that is
// killed leaves its folder, with some hundred megabytes, to the next one.
func scratch(t *testing.T) string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(os.TempDir(), scratchName))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range left {
		if lock := lockFolder(t, dir); lock != nil {
			removeFolder(t, dir)
			_ = lock.Close()
		}
	}
	for {
		dir, err := os.MkdirTemp("", scratchName)
		if err != nil {
			t.Fatal(err)
		}
		if lock := lockFolder(t, dir); lock != nil { // otherwise another test takes it for one that is left
			t.Cleanup(func() {
				removeFolder(t, dir)
				_ = lock.Close()
			})
			return dir
		}
	}
}

// scratchName is the pattern of the names of the folders.
const scratchName = "bunting-install-*"

// lockFolder locks a folder until the process ends or closes the file. It returns nil if the folder is
// locked or gone.
func lockFolder(t *testing.T, dir string) *os.File {
	t.Helper()
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		if _, err := os.Stat(dir); err == nil {
			return f
		}
	}
	_ = f.Close()
	return nil
}

func removeFolder(t *testing.T, dir string) {
	t.Helper()
	run(t, privileged(context.Background(), "rm", "-rf", dir))
}

// A test deletes the folder of one that was killed, and keeps those of tests that run.
func TestScratch(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	left, err := os.MkdirTemp("", scratchName)
	if err != nil {
		t.Fatal(err)
	}
	var other string
	t.Run("one", func(t *testing.T) {
		one := scratch(t)
		t.Run("other", func(t *testing.T) { other = scratch(t) })
		for dir, want := range map[string]bool{left: false, one: true, other: false} {
			if _, err := os.Stat(dir); (err == nil) != want {
				t.Errorf("%s: %v", dir, err)
			}
		}
	})
}

// command returns the command of a page that begins with some words, for the architecture of this machine.
func command(t *testing.T, page, begin string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("`(" + regexp.QuoteMeta(begin) + " [^`]+)`").FindSubmatch(text)
	if m == nil {
		t.Fatalf("%s has no command %s", page, begin)
	}
	return strings.ReplaceAll(string(m[1]), "amd64", runtime.GOARCH)
}

// serviceCommand returns the command with which systemd starts the service.
func serviceCommand(t *testing.T) string {
	t.Helper()
	unit, err := os.ReadFile("files/bunting.service")
	if err != nil {
		t.Fatal(err)
	}
	return string(regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindSubmatch(unit)[1])
}

// freeAddress returns an address of this machine that is free. Other tests use 127.0.0.1 and do not take
// the port before a server of this test does.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.9:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr())
}

// downloadOpenRC downloads Debian's packages of OpenRC, or reads them from the cache. They are not
// installed on this machine, because they would replace parts of its init system.
func downloadOpenRC(t *testing.T, folder string) {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	cached := filepath.Join(cache, "bunting-tests", "openrc")
	if _, err := os.Stat(cached); err != nil {
		download := exec.Command("sh", "-euc", `mkdir -p "$1.$$" && cd "$1.$$" && get() { apt-get -qq download openrc librc1 libeinfo1; }
get || { $2 apt-get -qq update && get; }
touch *.deb # the test command deletes what is old
mv "$1.$$" "$1"`, "sh", cached, map[bool]string{false: "sudo -n"}[os.Geteuid() == 0])
		run(t, download)
	}
	run(t, exec.Command("sh", "-euc", `cp "$1"/*.deb "$2"`, "sh", cached, folder))
}
