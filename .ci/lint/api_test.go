// Package lint contains the settings of the linters, and tests of scripts that CI runs.
package lint

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// clone is a repository with a module at its root and one in a subfolder.
type clone struct {
	t   *testing.T
	dir string
}

func newClone(t *testing.T) clone {
	c := clone{t, t.TempDir()}
	c.git("init", "-q")
	c.write("go.work", "go 1.26.0\n\nuse (\n\t.\n\t./below\n)\n")
	c.write("go.mod", "module example.org/top\n\ngo 1.26.0\n")
	c.write("top.go", "package top\n\nfunc Kept() int { return 1 }\n\nfunc Gone(n int) int { return n }\n")
	c.write("internal/in/in.go", "package in\n\nfunc Gone() {}\n")
	c.write("loose/loose.go", "package loose\n\nfunc Gone() {}\n")
	c.write("ARCHITECTURE.md", "| promise | packages |\n|---|---|\n| **stable** | `.` |\n| **without promise** | `below/other`, `loose` |\n")
	c.write("below/go.mod", "module example.org/top/below\n\ngo 1.26.0\n")
	c.write("below/below.go", "package below\n\ntype T struct{ A int }\n")
	c.next("below/v0.1.0", "v0.1.0")
	return c
}

func (c clone) write(name, text string) {
	c.t.Helper()
	file := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// next writes the table of the next tags.
func (c clone) next(tags ...string) {
	c.t.Helper()
	text := "| | tag |\n|---|---|\n"
	for i, tag := range tags {
		text += "| " + string(rune('1'+i)) + " | `" + tag + "` |\n"
	}
	c.write("CONTRIBUTING.md", text)
}

func (c clone) git(args ...string) {
	c.t.Helper()
	command := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org", "-C", c.dir}, args...)...)
	if out, err := command.CombinedOutput(); err != nil {
		c.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (c clone) commit() {
	c.t.Helper()
	c.git("add", "-A")
	c.git("commit", "-qm", "a change")
}

// api runs .ci/api and requires that its output contains each of want. fails reports whether it
// must fail.
func (c clone) api(fails bool, want ...string) {
	c.t.Helper()
	c.script(fails, want, "../api", c.dir)
}

func (c clone) script(fails bool, want []string, name string, args ...string) {
	c.t.Helper()
	command := exec.Command(name, args...)
	command.Env = append(os.Environ(), "GOWORK=")
	out, err := command.CombinedOutput()
	if (err != nil) != fails {
		c.t.Errorf("it ended with %v:\n%s", err, out)
	}
	for _, want := range want {
		if !strings.Contains(string(out), want) {
			c.t.Errorf("%s\nwant %q in it", out, want)
		}
	}
}

// Before the first tag there is no version to compare with. Afterwards, additions, internal changes
// and changes of packages without a promise are accepted, and other incompatible changes only if
// the table has a sufficient next version.
func TestAPI(t *testing.T) {
	c := newClone(t)
	c.commit()
	c.api(false, "below: no tag yet", ".: no tag yet")

	c.git("tag", "below/v0.1.0")
	c.git("tag", "v0.1.0")
	c.api(false, "below: nothing breaks since below/v0.1.0", ".: nothing breaks since v0.1.0")

	c.write("more.go", "package top\n\nfunc More() {}\n")
	c.write("internal/in/in.go", "package in\n")
	c.write("loose/loose.go", "package loose\n")
	c.commit()
	c.api(false, ".: nothing breaks since v0.1.0")

	c.write("top.go", "package top\n\nfunc Kept() int { return 1 }\n")
	c.commit()
	c.api(true, "below: nothing breaks", ".: these changes break what used v0.1.0, and v0.1.0 is no version for them:", "Gone: removed")

	c.next("below/v0.1.0", "v0.1.1")
	c.api(true, "v0.1.1 is no version for them", "Gone: removed")
	c.next("below/v0.1.0", "v0.2.0")
	c.api(false, ".: v0.2.0 may break what used v0.1.0:", "Gone: removed")

	c.git("tag", "v1.9.0") // from v1 on a minor version must not break; the last version is not the last in alphabetical order
	c.git("tag", "v1.10.0")
	c.write("top.go", "package top\n")
	c.commit()
	c.next("below/v0.1.0", "v1.11.0")
	c.api(true, "break what used v1.10.0", "Kept: removed")
	c.next("below/v0.1.0", "v2.0.0")
	c.api(false, "v2.0.0 may break what used v1.10.0", "Kept: removed")

	c.write("below/below.go", "package below\n\ntype T struct{ A string }\n")
	c.commit()
	c.write("top.go", "package top\n\nfunc Kept() int { return 1 }\n") // as in v1.10.0
	c.commit()
	c.api(true, "below: these changes break what used below/v0.1.0", "T.A: changed from int to string", ".: nothing breaks since v1.10.0")
}
