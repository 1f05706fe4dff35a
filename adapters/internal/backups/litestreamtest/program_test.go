package litestreamtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// page is the page with the configuration and the commands.
const page = "../../../../cmd/bunting/LITESTREAM.md"

var (
	pageConfig   = regexp.MustCompile("(?s)```yaml\n(.*?)```")
	pageCommands = regexp.MustCompile(`(?m)^    ((?:umask|litestream restore|bunting restore) .*)$`)
)

// Litestream's own program runs with the configuration on the page, except that the replica is a folder, while
// there is a server that takes as many events as it can for some minutes. Then the commands on the page
// restore a database with the same rows.
func TestProgram_RestoresAsOnThePage(t *testing.T) {
	if !*long {
		t.Skip("it builds Litestream's program, which takes minutes: the step replicas runs it with -long")
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	config, commands := pageConfig.FindSubmatch(text), pageCommands.FindAllSubmatch(text, -1)
	if config == nil || len(commands) != 3 {
		t.Fatalf("the page has the configuration %q and the commands %q", config, commands)
	}
	data, replica := folders(t)
	folder := t.TempDir()
	file := filepath.Join(folder, "litestream.yml")
	here := strings.NewReplacer(
		"--data /var/lib/bunting --replace", "--data "+filepath.Join(folder, "restored"), "/var/lib/bunting", data,
		"s3://my-bucket/flags", "file://"+replica, "restored.db", filepath.Join(folder, "restored.db"), "litestream restore", "litestream restore -config "+file)
	if err := os.WriteFile(file, []byte(here.Replace(string(config[1]))), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program(t), filepath.Join(folder, "bunting")); err != nil {
		t.Fatal(err)
	}
	if err := build(".", filepath.Join(folder, "litestream"), "github.com/benbjohnson/litestream/cmd/litestream"); err != nil {
		t.Fatal(err)
	}

	s := serve(t, data, "--definitions", definitions)
	l := start(t, exec.Command(filepath.Join(folder, "litestream"), "replicate", "-config", file))
	work := startLoad(s, "one")
	longest := int64(0)
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if info, err := os.Stat(filepath.Join(data, "bunting.db-wal")); err == nil {
			longest = max(longest, info.Size())
		}
	}
	work.stop(t)
	s.stop(t)
	l.stop(t)

	script := "set -e\n"
	for _, c := range commands {
		script += here.Replace(string(c[1])) + "\n"
	}
	restore := exec.Command("sh", "-c", script)
	restore.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"))
	if out, err := restore.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	requireEqual(t, data, filepath.Join(folder, "restored"))
	t.Logf("the log had up to %d bytes", longest)
}
