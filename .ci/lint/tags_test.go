package lint

import (
	"os/exec"
	"strings"
	"testing"
)

// make release prints the tags of the table in its order, and no tag while one of the checks of "A
// release" fails, such as that of the upgrade data. The clone remains as it is.
func TestTags(t *testing.T) {
	c := newClone(t)
	release := func(version string, fails bool, want ...string) {
		t.Helper()
		c.script(fails, want, "../tags", version, c.dir)
	}
	c.write("CHANGELOG.md", "# Changelog\n\n## Unreleased\n")
	c.commit()
	// In place of a database, the data of a version is the output of the doctor.
	c.write("cmd/bunting/main.go", "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc main() {\n\ttext, _ := os.ReadFile(os.Args[len(os.Args)-1] + \"/bunting.db\")\n\tfmt.Print(\"ok       database  intact\\n\", string(text))\n}\n")
	upgrade := func(version, text string) { c.write("testdata/upgrade/"+version+"/data/bunting.db", text) }
	const current = "ok       schema    17, the newest, made by bunting v0.1.0\n"
	upgrade("v0.1.0", current)
	c.write("cmd/bunting/chart/Chart.yaml", "name: bunting\nversion: 0.1.0\n")
	c.write("README.md", "There is no release yet. `go install example.org/top/cmd/bunting@v0.1.0`\n")
	c.commit()
	release("", true, "give a version such as v0.1.0")
	release("0.1.0", true, "give a version such as v0.1.0")
	release("v0.1.0", true, "'## v0.1.0 (YYYY-MM-DD)'", "still has a section Unreleased", "README.md still says that there is no release")
	c.write("README.md", "`go install example.org/top/cmd/bunting@v0.1.0`\n")

	c.write("CHANGELOG.md", "# Changelog\n\n## v0.1.0 (2026-12-01)\n")
	release("v0.1.0", true, "changes that are not committed", "nothing to push yet")
	c.commit()
	release("v0.2.0", true, "ends with 'v0.1.0', not with v0.2.0", "README.md does not install v0.2.0", "Chart.yaml does not have the version 0.2.0")
	c.git("tag", "below/v0.1.0")
	release("v0.1.0", true, "the tag below/v0.1.0 exists already")
	c.git("tag", "-d", "below/v0.1.0")

	// Data of another schema than the current one needs a new folder, or a new one of this version.
	const older = "note     schema    14, made by bunting v0.0.9; the next start upgrades it to 17: make a backup first\n"
	const write = "go test ./adapters/server -run TestUpgrade -write-upgrade=v0.1.0"
	for text, says := range map[string]string{older: strings.TrimSuffix(older, "\n"), "": "the doctor does not know it"} {
		upgrade("v0.1.0", text)
		c.commit()
		release("v0.1.0", true, "testdata/upgrade/v0.1.0 is not of the current schema ("+says+"): git rm -rq testdata/upgrade/v0.1.0 && "+write, "nothing to push yet")
	}
	c.git("mv", "testdata/upgrade/v0.1.0", "testdata/upgrade/v0.0.10")
	upgrade("v0.0.9", current)
	c.commit()
	release("v0.1.0", true, "testdata/upgrade/v0.0.10 is not of the current schema (", "): "+write, "nothing to push yet")
	upgrade("v0.0.10", current)
	c.commit()

	commit, err := exec.Command("git", "-C", c.dir, "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	var want string
	for _, tag := range []string{"below/v0.1.0", "v0.1.0"} {
		want += "git tag " + tag + " " + strings.TrimSpace(string(commit)) + " && git push origin " + tag + "\n"
	}
	release("v0.1.0", false, ".ci/test --long", want)
	if tags, err := exec.Command("git", "-C", c.dir, "tag").Output(); err != nil || string(tags) != "" {
		t.Errorf("there are tags: %s %v", tags, err)
	}

	// A change that breaks what the last version exports needs a version for it.
	c.git("tag", "below/v0.1.0")
	c.git("tag", "v0.1.0")
	c.write("top.go", "package top\n")
	c.write("CHANGELOG.md", "# Changelog\n\n## v0.1.1 (2026-12-02)\n")
	c.next("below/v0.1.1", "v0.1.1")
	c.commit()
	release("v0.1.1", true, "v0.1.1 is no version for them", "nothing to push yet")
}
