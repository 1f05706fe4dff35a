package command

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// library is a module that other services import, with the modules that it requires.
type library struct {
	dir string
	// others is a package that importers of the library also import, if any. The modules that it
	// requires do not count as the library's.
	others string
	// linked are the modules, besides the library's own, with code in a service's program. listed
	// are the modules that its list contains because of our tests and of other packages of a
	// module. The versions of no further modules can be raised.
	linked, listed []string
}

const (
	regexp2 = "github.com/dlclark/regexp2/v2"
	lru     = "github.com/hashicorp/golang-lru/v2"
	murmur3 = "github.com/spaolacci/murmur3"
	goCmp   = "github.com/google/go-cmp"
	leaks   = "go.uber.org/goleak"
	minGo   = "1.25.0"
)

var libraries = []library{
	{"flags", "", []string{regexp2, murmur3}, []string{goCmp, leaks, lru}},
	{"adapters/remote", "", []string{module + "/flags", regexp2, lru, murmur3}, []string{goCmp, leaks}},
	{"adapters/ofprovider", "github.com/open-feature/go-sdk/openfeature", []string{module + "/flags", regexp2, lru, murmur3}, []string{goCmp}},
	{"adapters/otelhook", "go.opentelemetry.io/otel/sdk/log", []string{module + "/flags", regexp2, murmur3}, []string{lru}},
	{"adapters/promhook", "github.com/prometheus/client_golang/prometheus", []string{module + "/flags", regexp2, murmur3}, []string{lru}},
}

// A service that imports a library gets these modules, and need not change its Go version.
func TestModules_LibrariesAreLight(t *testing.T) {
	proxy, cache := t.TempDir(), strings.TrimSpace(goCommand(t, ".", nil, "env", "GOMODCACHE"))
	for _, dir := range workspace(t, os.DirFS("../..")) {
		publish(t, proxy, dir)
	}
	env := []string{
		"GOWORK=off", "GOSUMDB=off", "GOFLAGS=" + os.Getenv("GOFLAGS") + " -mod=mod -modcacherw", "GOTOOLCHAIN=local", "GOMODCACHE=" + t.TempDir(),
		"GOPROXY=file://" + proxy + ",file://" + filepath.ToSlash(cache) + "/cache/download," + strings.TrimSpace(goCommand(t, ".", nil, "env", "GOPROXY")),
	}
	for _, lib := range libraries {
		t.Run(lib.dir, func(t *testing.T) {
			own := path.Join(module, lib.dir)
			with := newService(t, env, own, own, published)
			goCommand(t, with.dir, env, "build", "-o", filepath.Join(with.dir, "service"))
			if got := with.list(t, "-m", "-f", "{{.GoVersion}}"); !slices.Equal(got, []string{minGo}) {
				t.Errorf("the service needs Go %s, want %s", got, minGo)
			}
			linked, listed := with.linked(t), with.listed(t)
			if lib.others != "" {
				others := with.list(t, "-f", "{{.Module.Path}} {{.Module.Version}}", lib.others)
				without := newService(t, env, lib.others, others[0], others[1])
				linked, listed = difference(linked, without.linked(t)), difference(listed, without.listed(t))
			}
			want := append([]string{own}, lib.linked...)
			for what, diff := range map[string]string{
				"linked": cmp.Diff(sorted(want), linked), "listed": cmp.Diff(sorted(append(want, lib.listed...)), listed),
			} {
				if diff != "" {
					t.Errorf("modules that are %s (-want +got)\n%s", what, diff)
				}
			}
		})
	}
}

// service is an example module that imports one package.
type service struct {
	dir string
	env []string
}

func newService(t *testing.T, env []string, imports, module, version string) service {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module example.org/service\n\ngo "+minGo+"\n\nrequire "+module+" "+version+"\n")
	write(t, filepath.Join(dir, "main.go"), "package main\n\nimport _ \""+imports+"\"\n\nfunc main() {}\n")
	goCommand(t, dir, env, "mod", "tidy")
	return service{dir, env}
}

// list returns the sorted output of go list, without the service itself.
func (s service) list(t *testing.T, args ...string) []string {
	t.Helper()
	got := sorted(strings.Fields(goCommand(t, s.dir, s.env, append([]string{"list"}, args...)...)))
	return difference(slices.Compact(got), []string{"example.org/service"})
}

func (s service) linked(t *testing.T) []string {
	t.Helper()
	return s.list(t, "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}")
}

func (s service) listed(t *testing.T) []string {
	t.Helper()
	return s.list(t, "-m", "-f", "{{.Path}}", "all")
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

func difference(list, removed []string) []string {
	return slices.DeleteFunc(list, func(m string) bool { return slices.Contains(removed, m) })
}

// go install refuses a program whose module has replace directives, and resolves only the modules
// that the module requires, at one version of ours.
func TestModules_ProgramInstalls(t *testing.T) {
	root := os.DirFS("../..")
	replaced := []string{"mod", "edit"}
	for _, dir := range workspace(t, root) {
		var file struct {
			Require          []struct{ Path, Version string }
			Replace, Exclude []any
		}
		if err := json.Unmarshal([]byte(goCommand(t, filepath.Join("../..", dir), nil, "mod", "edit", "-json")), &file); err != nil {
			t.Fatal(err)
		}
		if len(file.Replace) > 0 || len(file.Exclude) > 0 {
			t.Errorf("%s/go.mod replaces or excludes modules", dir)
		}
		for _, r := range file.Require {
			if strings.HasPrefix(r.Path, module+"/") && r.Version != published {
				t.Errorf("%s/go.mod requires %s %s, want %s", dir, r.Path, r.Version, published)
			}
		}
		if dir != "." {
			here, err := filepath.Abs(filepath.Join("../..", dir))
			if err != nil {
				t.Fatal(err)
			}
			replaced = append(replaced, "-replace="+path.Join(module, dir)+"="+here)
		}
	}
	tmp := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := fs.ReadFile(root, name)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(tmp, name), string(text))
	}
	goCommand(t, tmp, nil, replaced...)
	goCommand(t, "../..", []string{"GOWORK=off"}, "list", "-deps", "-modfile="+filepath.Join(tmp, "go.mod"), "./cmd/bunting")
}

// workspace returns the folders of go.work.
func workspace(t *testing.T, root fs.FS) (dirs []string) {
	t.Helper()
	text, err := fs.ReadFile(root, "go.work")
	if err != nil {
		t.Fatal(err)
	}
	for _, use := range regexp.MustCompile(`(?m)^\s+(\.\S*)$`).FindAllSubmatch(text, -1) {
		dirs = append(dirs, path.Clean(string(use[1])))
	}
	return dirs
}

const (
	module = "github.com/bunting-flags/bunting"
	// published is the version that our modules require of each other.
	published = "v0.1.0"
)

// publish adds the module of a folder to a proxy of files.
func publish(t *testing.T, proxy, dir string) {
	t.Helper()
	name, root := path.Join(module, dir), filepath.Join("../..", dir)
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			_, nested := os.Stat(filepath.Join(file, "go.mod"))
			if file != root && (nested == nil || d.Name() == "node_modules" || d.Name()[0] == '.') {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular() || filepath.Ext(file) != ".go" && d.Name() != "go.mod":
			return nil
		}
		inside, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		w, err := z.Create(name + "@" + published + "/" + filepath.ToSlash(inside))
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	goMod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(proxy, filepath.FromSlash(name), "@v", published)
	write(t, folder+".info", `{"Version": "`+published+`"}`)
	write(t, folder+".mod", string(goMod))
	write(t, folder+".zip", archive.String())
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// goCommand runs the go command and returns its output.
func goCommand(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	out, err := goTry(dir, env, args...)
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// goTry returns the output of a command, or an error with its standard error.
func goTry(dir string, env []string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return stderr.String(), err
	}
	return string(out), nil
}
