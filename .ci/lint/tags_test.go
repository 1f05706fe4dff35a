package lint

import (
	"os/exec"
	"strings"
	"testing"
)

// make release prints the tags of the table in its order, and no tag while one of the checks of "A
// release" fails. It changes nothing.
func TestTags(t *testing.T) {
	c := newClone(t)
	release := func(version string, fails bool, want ...string) {
		t.Helper()
		c.script(fails, want, "../tags", version, c.dir)
	}
	c.write("CHANGELOG.md", "# Changelog\n\n## Unreleased\n")
	c.commit()
	release("", true, "give a version such as v0.1.0")
	release("0.1.0", true, "give a version such as v0.1.0")
	release("v0.1.0", true, "'## v0.1.0 (YYYY-MM-DD)'", "still has a section Unreleased")

	c.write("CHANGELOG.md", "# Changelog\n\n## v0.1.0 (2026-12-01)\n")
	release("v0.1.0", true, "changes that are not committed", "nothing to push yet")
	c.commit()
	release("v0.2.0", true, "ends with 'v0.1.0', not with v0.2.0")
	c.git("tag", "below/v0.1.0")
	release("v0.1.0", true, "the tag below/v0.1.0 exists already")
	c.git("tag", "-d", "below/v0.1.0")

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
