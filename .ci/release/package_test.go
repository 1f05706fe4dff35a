// Package release tests the archives and packages of a release.
package release

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
	"go.yaml.in/yaml/v3"
)

// root is the repository.
const root = "../.."

// program returns the program: the one in TEST_BINARY, or one that it builds.
func program(t *testing.T) string {
	t.Helper()
	if built := os.Getenv("TEST_BINARY"); built != "" {
		return built
	}
	built := filepath.Join(t.TempDir(), "bunting")
	build := exec.Command("go", "build", "-o", built, "./cmd/bunting")
	build.Dir, build.Env = root, append(os.Environ(), "GOWORK=")
	run(t, build)
	return built
}

// run runs a command and returns its output.
func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return string(out)
}

// pack writes the package of a version, from the section nfpms of goreleaser's settings, to a folder, and
// returns its path. kind is deb, rpm or apk.
func pack(t *testing.T, kind, folder, program, texts, version string) string {
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
	info.Deb.Compression, info.RPM.Compression = "none", "zstd:fastest" // which take less time than the defaults
	info.Name, info.Version, info.Arch, info.Depends = "bunting", version, runtime.GOARCH, parsed.NFPMs[0].Overrides[kind].Dependencies
	for _, c := range info.Contents {
		if base, isText := strings.CutPrefix(c.Source, ".ci/release/texts.out/"); isText {
			c.Source = filepath.Join(texts, base)
		} else {
			c.Source = filepath.Join(root, c.Source)
		}
	}
	info.Contents = append(info.Contents, &files.Content{Source: program, Destination: "/usr/bin/bunting", FileInfo: &files.ContentFileInfo{Mode: 0o755}})
	for _, script := range []*string{&info.Scripts.PostInstall, &info.Scripts.PreRemove, &info.Scripts.PostRemove, &info.APK.Scripts.PostUpgrade} {
		*script = filepath.Join(root, *script)
	}
	nfpm.WithDefaults(info)
	if err := nfpm.PrepareForPackager(info, kind); err != nil {
		t.Fatal(err)
	}
	packager, err := nfpm.Get(kind)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, fmt.Sprintf("bunting_%s_linux_%s.%s", version, runtime.GOARCH, kind))
	f, err := os.Create(file)
	if err == nil {
		err = packager.Package(info, f)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// contents are the files that each package has, with their permissions. Their owner is root.
var contents = map[string]string{
	"/etc/bunting/bunting.json":                         "0640",
	"/usr/bin/bunting":                                  "0755",
	"/usr/share/bash-completion/completions/bunting":    "0644",
	"/usr/share/doc/bunting/copyright":                  "0644",
	"/usr/share/fish/vendor_completions.d/bunting.fish": "0644",
	"/usr/share/man/man1/bunting.1":                     "0644",
}

// ownContents are the further files of the kinds of packages.
var ownContents = map[string]map[string]string{
	"deb": {"/usr/lib/systemd/system/bunting.service": "0644", "/usr/share/zsh/vendor-completions/_bunting": "0644"},
	"rpm": {"/usr/lib/systemd/system/bunting.service": "0644", "/usr/share/zsh/site-functions/_bunting": "0644"},
	"apk": {"/etc/init.d/bunting": "0755", "/usr/share/zsh/site-functions/_bunting": "0644"},
}

// listed returns the files of a package with their permissions, as the programs of its system read it.
func listed(t *testing.T, kind, file string) map[string]string {
	t.Helper()
	out := map[string]string{}
	switch kind {
	case "rpm":
		format := `[%{FILENAMES} %{FILEMODES:octal} %{FILEUSERNAME}:%{FILEGROUPNAME}\n]`
		for line := range strings.Lines(run(t, exec.Command("rpm", "-qp", "--qf", format, file))) {
			fields := strings.Fields(line)
			if mode, isFile := strings.CutPrefix(fields[1], "10"); isFile && fields[2] == "root:root" {
				out[fields[0]] = mode
			}
		}
	case "deb":
		list(t, strings.NewReader(run(t, exec.Command("dpkg-deb", "--fsys-tarfile", file))), out)
	default: // several archives, each compressed, that are one
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		unpacked, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		list(t, unpacked, out)
		for _, script := range []string{"PKGINFO", "post-install", "post-upgrade", "pre-deinstall", "post-deinstall"} {
			if out["/."+script] == "" {
				t.Errorf("the package has no %s", script)
			}
			delete(out, "/."+script)
		}
	}
	return out
}

// list adds the files of an archive that belong to root, with their permissions, to out.
func list(t *testing.T, r io.Reader, out map[string]string) {
	t.Helper()
	archive := tar.NewReader(r)
	for {
		h, err := archive.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg && h.Uid == 0 && h.Gid == 0 && cmp.Or(h.Uname, "root") == "root" {
			out[path.Join("/", h.Name)] = fmt.Sprintf("%04o", h.Mode)
		}
	}
}

// Each kind of package has the files for its system, and a package that is built twice has the same bytes.
func TestPackage_Files(t *testing.T) {
	texts, program := t.TempDir(), filepath.Join(t.TempDir(), "program")
	for _, file := range []string{program, texts + "/bunting.1", texts + "/bunting.bash", texts + "/bunting.zsh", texts + "/bunting.fish"} {
		if err := os.WriteFile(file, []byte(filepath.Base(file)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for kind, own := range ownContents {
		file := pack(t, kind, t.TempDir(), program, texts, "0.1.0")
		want := maps.Clone(own)
		maps.Copy(want, contents)
		if got := listed(t, kind, file); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", kind, got, want)
		}
		if kind == "rpm" { // the name of the machine that builds would differ
			if got := run(t, exec.Command("rpm", "-qp", "--qf", "%{BUILDHOST}", file)); got != "localhost" {
				t.Errorf("built on %q", got)
			}
		}
		wantEqual(t, file, pack(t, kind, t.TempDir(), program, texts, "0.1.0"))
	}
}

// wantEqual compares two files.
func wantEqual(t *testing.T, one, other string) {
	t.Helper()
	var texts [2][]byte
	for i, file := range []string{one, other} {
		var err error
		if texts[i], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(texts[0], texts[1]) {
		t.Errorf("two builds of %s differ", filepath.Base(one))
	}
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

// A shell can read all scripts.
func TestPackage_Scripts(t *testing.T) {
	scripts, err := filepath.Glob("files/*.sh")
	if err != nil || len(scripts) < 3 {
		t.Fatal(scripts, err)
	}
	for _, script := range slices.Concat(scripts, []string{"files/bunting.initd"}) {
		run(t, exec.Command("sh", "-n", script))
	}
}
