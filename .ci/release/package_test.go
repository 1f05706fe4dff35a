// Package release tests the packages of a release.
package release

import (
	"bytes"
	_ "embed"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"go.yaml.in/yaml/v3"
)

// root is the repository.
const root = "../.."

//go:embed install.sh
var install string

// program returns the program: the one in TEST_BINARY, or one that it builds.
func program(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("TEST_BINARY"); path != "" {
		return path
	}
	path := filepath.Join(t.TempDir(), "bunting")
	build := exec.Command("go", "build", "-o", path, "./cmd/bunting")
	build.Dir, build.Env = root, append(os.Environ(), "GOWORK=")
	run(t, build)
	return path
}

// run runs a command and returns what it prints.
func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return string(out)
}

// debian writes the Debian package of a version, from the section nfpms of goreleaser's settings, and
// returns its path.
func debian(t *testing.T, program, texts, version string) string {
	t.Helper()
	settings, err := os.ReadFile(filepath.Join(root, ".ci/release/.goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	settings = bytes.ReplaceAll(settings, []byte(`mtime: "{{ .CommitDate }}"`), []byte("mtime: 2026-01-01T00:00:00Z"))
	var parsed struct {
		NFPMs []struct {
			nfpm.Info `yaml:",inline"`
			Overrides map[string]struct{ Dependencies []string }
		} `yaml:"nfpms"`
	}
	if err := yaml.Unmarshal(settings, &parsed); err != nil {
		t.Fatal(err)
	}
	info := &parsed.NFPMs[0].Info
	info.Deb.Compression = "none" // which takes less time than the default
	info.Name, info.Version, info.Arch, info.Depends = "bunting", version, runtime.GOARCH, parsed.NFPMs[0].Overrides["deb"].Dependencies
	for _, c := range info.Contents {
		if base, isText := strings.CutPrefix(c.Source, ".ci/release/texts.out/"); isText {
			c.Source = filepath.Join(texts, base)
		} else {
			c.Source = filepath.Join(root, c.Source)
		}
	}
	info.Contents = append(info.Contents, &files.Content{Source: program, Destination: "/usr/bin/bunting", FileInfo: &files.ContentFileInfo{Mode: 0o755}})
	for _, script := range []*string{&info.Scripts.PostInstall, &info.Scripts.PreRemove, &info.Scripts.PostRemove} {
		*script = filepath.Join(root, *script)
	}
	nfpm.WithDefaults(info)
	if err := nfpm.PrepareForPackager(info, "deb"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "bunting_"+version+".deb")
	f, err := os.Create(path)
	if err == nil {
		err = deb.Default.Package(info, f)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// The Debian package installs, and its service starts as its unit says and decides a flag. Upgrade and
// removal keep the data and the settings, and purging deletes both. Everything happens in a root of
// its own: the files of this machine, with an overlay for changes.
func TestPackage_Debian(t *testing.T) {
	program, texts, dir := program(t), t.TempDir(), t.TempDir()
	run(t, exec.Command("./texts", texts, program))
	for version, name := range map[string]string{"0.1.0": "old.deb", "0.1.1": "new.deb"} {
		if err := os.Rename(debian(t, program, texts, version), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"upper", "work", "root"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	unit, err := os.ReadFile("files/bunting.service")
	if err != nil {
		t.Fatal(err)
	}
	start := regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindSubmatch(unit)
	args := []string{"unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-euc", install, "sh", dir, string(start[1]), freeAddress(t)}
	if os.Geteuid() != 0 {
		args = append([]string{"sudo", "-n"}, args...)
	}
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.WaitDelay = time.Minute
	out := run(t, cmd)
	for _, want := range []string{
		"installed 0.1.0\n", "/usr/share/man/man1/bunting.1", "bunting.bunting 700\n", // the data folder
		"new-checkout true\n", // the decision
		"upgraded 0.1.1\nsame data\nsame settings\n", "removed\nsame data\nsame settings\n", "purged\nno data\nno settings\nno user\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%s\nwant %q in it", out, want)
		}
	}
}

// freeAddress returns an address of this machine on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr())
}

// systemd accepts the unit, and its own analysis rates the exposure of the service 2.0 or less, of 10.
func TestPackage_Unit(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile("files/bunting.service")
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(dir, "bunting.service")
	// The program and the manual page need not be installed on this machine.
	checked := regexp.MustCompile(`(?m)^(Documentation=.*|User=.*|Group=.*)\n`).ReplaceAllString(strings.Replace(string(text), "/usr/bin/bunting", "/bin/true", 1), "")
	if err := os.WriteFile(unit, []byte(checked), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := run(t, exec.Command("systemd-analyze", "verify", unit)); strings.Contains(out, "bunting.service") {
		t.Errorf("%s", out)
	}
	if err := os.WriteFile(unit, text, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, exec.Command("systemd-analyze", "security", "--no-pager", "--offline=true", "--threshold=20", unit))
}
