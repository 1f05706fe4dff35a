package command

import (
	"bytes"
	"encoding/json"
	"io"
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
	modversion "golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
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
	env := publishedModules(t)
	for _, lib := range libraries {
		t.Run(lib.dir, func(t *testing.T) {
			own := path.Join(module, lib.dir)
			with := newService(t, env, own, own, published)
			if *long { // otherwise TestModules_ServiceDecides compiles some of them
				goCommand(t, with.dir, env, "build", "-o", filepath.Join(with.dir, "service"))
			}
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

// publishedModules publishes all modules of the repository on disk, and returns the environment in
// which the go command takes them from there, and other modules from where it has them now.
func publishedModules(t *testing.T) []string {
	t.Helper()
	proxy, cache := t.TempDir(), strings.TrimSpace(goCommand(t, ".", nil, "env", "GOMODCACHE"))
	for _, dir := range workspace(t, os.DirFS("../..")) {
		publish(t, proxy, dir)
	}
	return []string{
		// With -trimpath a package compiles to the same in each cache of modules.
		"GOWORK=off", "GOSUMDB=off", "GOFLAGS=" + os.Getenv("GOFLAGS") + " -mod=mod -modcacherw -trimpath", "GOTOOLCHAIN=local", "GOMODCACHE=" + t.TempDir(),
		"GOPROXY=file://" + proxy + ",file://" + filepath.ToSlash(cache) + "/cache/download," + strings.TrimSpace(goCommand(t, ".", nil, "env", "GOPROXY")),
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

// publish adds the module of a folder, as a commit of all files would release it, to a proxy of files.
func publish(t *testing.T, proxy, dir string) {
	t.Helper()
	version, root := modversion.Version{Path: path.Join(module, dir), Version: published}, filepath.Join("../..", dir)
	list := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	names, err := list.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v: this test wants a clone", err)
	}
	var files []modzip.File
	for name := range strings.Lines(string(names)) {
		file := moduleFile{root, strings.TrimSuffix(name, "\n")}
		if info, err := file.Lstat(); err == nil && info.Mode().IsRegular() && !inNestedModule(file) {
			files = append(files, file)
		}
	}
	var archive bytes.Buffer
	if err := modzip.Create(&archive, version, files); err != nil {
		t.Fatal(err)
	}
	goMod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(proxy, filepath.FromSlash(version.Path), "@v", published)
	write(t, filepath.Join(filepath.Dir(folder), "list"), published+"\n")
	write(t, folder+".info", `{"Version": "`+published+`"}`)
	write(t, folder+".mod", string(goMod))
	write(t, folder+".zip", archive.String())
}

// moduleFile is a file of a module.
type moduleFile struct{ root, name string }

func (f moduleFile) Path() string                 { return f.name }
func (f moduleFile) Lstat() (os.FileInfo, error)  { return os.Lstat(filepath.Join(f.root, f.name)) }
func (f moduleFile) Open() (io.ReadCloser, error) { return os.Open(filepath.Join(f.root, f.name)) }

// inNestedModule reports whether a folder between a module's root and the file has a go.mod of its own.
func inNestedModule(f moduleFile) bool {
	for dir := path.Dir(f.name); dir != "."; dir = path.Dir(dir) {
		if _, err := os.Stat(filepath.Join(f.root, dir, "go.mod")); err == nil {
			return true
		}
	}
	return false
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
