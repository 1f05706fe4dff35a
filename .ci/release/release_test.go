package release

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var long = flag.Bool("long", false, "build the archives and packages of a release, twice")

// Two clones of a commit build the same bytes: an archive for each system, packages for Linux, and
// the modules of each program.
func TestRelease_Reproducible(t *testing.T) {
	if !*long {
		t.Skip("it compiles the program for six systems; -long")
	}
	var sums []string
	var dist string
	for range 2 {
		clone := filepath.Join(t.TempDir(), "clone")
		run(t, exec.Command("git", "clone", "-q", root, clone))
		build := exec.Command(filepath.Join(clone, ".ci/release/build"))
		build.Env = append(os.Environ(), "GOWORK=")
		run(t, build)
		dist = filepath.Join(clone, ".ci/release/dist")
		text, err := os.ReadFile(filepath.Join(dist, "checksums.txt"))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, string(text))
	}
	if sums[0] != sums[1] {
		t.Errorf("the first clone builds\n%s\nthe second\n%s", sums[0], sums[1])
	}

	var got []string
	for _, m := range regexp.MustCompile(`(?m)^[0-9a-f]{64}  bunting_[0-9.]+_(\S+)$`).FindAllStringSubmatch(sums[0], -1) {
		got = append(got, m[1])
	}
	var want []string
	for _, system := range []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64", "windows_amd64", "windows_arm64"} {
		want = append(want, system+".cdx.json", system+map[bool]string{true: ".zip", false: ".tar.gz"}[strings.HasPrefix(system, "windows")])
	}
	for _, arch := range []string{"linux_amd64", "linux_arm64"} {
		want = append(want, arch+".apk", arch+".deb", arch+".rpm")
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the checksums are of\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	packages, _ := filepath.Glob(filepath.Join(dist, "*_linux_amd64.deb"))
	if len(packages) != 1 {
		t.Fatalf("packages: %v", packages)
	}
	contents := run(t, exec.Command("dpkg-deb", "--contents", packages[0]))
	for _, file := range []string{"/usr/bin/bunting", "/usr/lib/systemd/system/bunting.service", "/etc/bunting/bunting.json", "/usr/share/man/man1/bunting.1"} {
		if !strings.Contains(contents, " ."+file+"\n") {
			t.Errorf("the package has no %s:\n%s", file, contents)
		}
	}

	documents, _ := filepath.Glob(filepath.Join(dist, "*_linux_amd64.cdx.json"))
	if len(documents) != 1 {
		t.Fatalf("lists of modules: %v", documents)
	}
	text, err := os.ReadFile(documents[0])
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		BOMFormat  string `json:"bomFormat"`
		Components []struct{ Name string }
	}
	if err := json.Unmarshal(text, &document); err != nil || document.BOMFormat != "CycloneDX" {
		t.Fatalf("%s: %v", document.BOMFormat, err)
	}
	for _, module := range []string{"modernc.org/sqlite", "github.com/jackc/pgx/v5"} { // which the program contains
		if !slices.ContainsFunc(document.Components, func(c struct{ Name string }) bool { return c.Name == module }) {
			t.Errorf("%s does not list %s", documents[0], module)
		}
	}
}
