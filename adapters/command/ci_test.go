package command

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

// ciStep is a step of a composite action of GitHub.
type ciStep struct {
	ID, If, Shell, Run string
	Env                map[string]string
}

// ciJob runs the steps of an action in a shell, as a runner of GitHub does.
type ciJob struct {
	t      *testing.T
	dir    string            // RUNNER_TEMP
	values map[string]string // of expressions
	env    []string
}

// newCIJob prepares a job with programs in PATH: bunting is the program under test, gh and curl are
// scripts.
func newCIJob(t *testing.T, values map[string]string, gh, curl string) *ciJob {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	action, err := filepath.Abs("ci")
	if err != nil {
		t.Fatal(err)
	}
	j := &ciJob{t: t, dir: t.TempDir(), values: map[string]string{"inputs.comment": "true", "inputs.token": "ghs_token"}}
	for name, value := range values {
		j.values[name] = value
	}
	for name, script := range map[string]string{"bunting": fmt.Sprintf("exec env %s=yes %q \"$@\"", runAsBunting, self), "gh": gh, "curl": curl} {
		if script != "" {
			j.file("bin/"+name, "#!/bin/sh\n"+script+"\n")
		}
	}
	j.env = []string{
		"PATH=" + filepath.Join(j.dir, "bin") + ":/usr/bin:/bin", "HOME=" + j.dir, "RUNNER_TEMP=" + j.dir, "GITHUB_ACTION_PATH=" + action, "GITHUB_REPOSITORY=acme/shop",
		"GITHUB_PATH=" + filepath.Join(j.dir, "path"), "GITHUB_OUTPUT=" + filepath.Join(j.dir, "output"), "GITHUB_STEP_SUMMARY=" + filepath.Join(j.dir, "summary"),
	}
	return j
}

func (j *ciJob) file(name, text string) {
	j.t.Helper()
	path := filepath.Join(j.dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o700)
	}
	if err != nil {
		j.t.Fatal(err)
	}
}

func (j *ciJob) read(name string) string {
	j.t.Helper()
	text, err := os.ReadFile(filepath.Join(j.dir, name))
	if err != nil {
		j.t.Fatal(err)
	}
	return string(text)
}

var expression = regexp.MustCompile(`\$\{\{ *([a-z_.]+) *\}\}`)

// runs are the conditions of the action's steps.
var runs = map[string]func(values map[string]string) bool{
	"":                     func(map[string]string) bool { return true },
	"inputs.version != ''": func(v map[string]string) bool { return v["inputs.version"] != "" },
	"inputs.comment == 'true' && github.event.pull_request.number != ''": func(v map[string]string) bool {
		return v["inputs.comment"] == "true" && v["github.event.pull_request.number"] != ""
	},
}

// run runs all steps until one fails, and returns what they print and the error of the last.
func (j *ciJob) run() (out string, err error) {
	j.t.Helper()
	text, err := os.ReadFile("ci/action.yml")
	if err != nil {
		j.t.Fatal(err)
	}
	var action struct{ Runs struct{ Steps []ciStep } }
	if err := yaml.Unmarshal(text, &action); err != nil {
		j.t.Fatal(err)
	}
	for i, step := range action.Runs.Steps {
		condition, found := runs[step.If]
		if !found || step.Shell != "bash" || expression.MatchString(step.Run) {
			j.t.Fatalf("step %d has another condition or shell, or an expression in its script, which could be any code: %+v", i, step)
		}
		if !condition(j.values) {
			continue
		}
		script := filepath.Join(j.dir, "step.sh")
		j.file("step.sh", step.Run)
		cmd := exec.CommandContext(j.t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", script)
		cmd.Dir, cmd.Env = j.dir, j.env
		for name, value := range step.Env {
			cmd.Env = append(cmd.Env, name+"="+expression.ReplaceAllStringFunc(value, func(e string) string { return j.values[expression.FindStringSubmatch(e)[1]] }))
		}
		text, err := cmd.CombinedOutput()
		if out += string(text); err != nil {
			return out, err
		}
		if outputs, err := os.ReadFile(filepath.Join(j.dir, "output")); err == nil {
			for line := range strings.Lines(string(outputs)) {
				name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
				j.values["steps.report.outputs."+name] = value
			}
		}
	}
	return out, nil
}

// ghScript records the request and the body of a comment. old is the number of an earlier comment.
func ghScript(old string) string {
	return `case "$*" in *--paginate*) echo ` + old + `;; *) echo "$*" > comment; for a; do case "$a" in body=@*) cat "${a#body=@}" >> comment; esac; done; esac`
}

// A report has what a file changes on the server, and is a comment that a later run replaces. The
// numbers are counted by hand: one of the two persons is from Berlin.
func TestCI_Report(t *testing.T) {
	s, env, token := startServer(t)
	s.send(token, "$identify", "ana", `{"city": "Berlin"}`)
	s.send(token, "$identify", "bo", `{"city": "Paris"}`)
	if r := call(t, "", env, "flags", "set", "new-checkout", "--rollout", "0"); r.Code != 0 {
		t.Fatal(r)
	}
	reader := printedKey.FindString(call(t, "", env, "keys", "create", "--label", "ci", "--scopes", "feature_flag:read").Stdout)
	values := map[string]string{
		"inputs.files": "flags.json", "inputs.server": s.url, "inputs.key": reader, "inputs.project": "1", "github.event.pull_request.number": "7",
	}
	const flag = `{"cohorts": [], "flags": [{"key": "new-checkout", "active": true, "filters": {"groups": [{"properties": [{"key": "city", "type": "person", "value": ["Berlin"], "operator": "exact"}], "rollout_percentage": 100}]}}]}`
	for name, tt := range map[string]struct {
		old, request string
	}{
		"the first":    {"", "api --method POST repos/acme/shop/issues/7/comments --field body=@"},
		"a later push": {"99", "api --method PATCH repos/acme/shop/issues/comments/99 --field body=@"},
	} {
		j := newCIJob(t, values, ghScript(tt.old), "")
		j.file("flags.json", flag)
		out, err := j.run()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		comment := j.read("comment")
		for _, want := range []string{
			tt.request, "<!-- bunting flags -->\n### Feature flags\n", "#### `flags.json`\n\nNo errors.\n", "**1 would change, 0 unchanged**\n",
			"- update flag `new-checkout`: 1 of 2 people would get another value\n", "  - `filters.groups[0].rollout_percentage`: `0` → `100`\n",
		} {
			if !strings.Contains(comment, want) {
				t.Errorf("%s: no %q in\n%s", name, want, comment)
			}
		}
		if summary := j.read("summary"); !strings.HasSuffix(comment, summary) || j.read("bunting-report.md") != summary || j.values["steps.report.outputs.report"] != filepath.Join(j.dir, "bunting-report.md") {
			t.Errorf("%s: the summary is another:\n%s", name, summary)
		}
	}
	// The server still has what it had.
	if r := call(t, "", env, "flags", "get", "new-checkout", "--json"); !strings.Contains(strings.ReplaceAll(r.Stdout, " ", ""), `"rollout_percentage":0`) {
		t.Error(r)
	}
}

// A file with an error fails the job, also when the comment is refused, and has no plan. Without a key
// there is only the check. Text from a file, and its name, cannot leave their place in the report.
func TestCI_Failures(t *testing.T) {
	const broken = "{\"flags\": [{\"id\": 1, \"key\": \"a\\n```\\n# heading\", \"active\": true, \"filters\": {\"groups\": [{\"rolout_percentage\": 5}]}}]}"
	many := `{"id": 1, "key": "é1", "active": true, "filters": {"groups": [{"rolout_percentage": 5}]}}`
	for n := 2; n < 1000; n++ {
		many += fmt.Sprintf(`, {"id": %d, "key": "é%d", "active": true, "filters": {"groups": [{"rolout_percentage": 5}]}}`, n, n)
	}
	good := `{"flags": [{"id": 1, "key": "a", "active": true, "filters": {"groups": [{}]}}]}`
	for name, tt := range map[string]struct {
		flags, server, key string
		gh                 string
		fails              bool
		want               []string
	}{
		"an error":         {broken, "", "", "exit 1", true, []string{"**`bunting check` reports errors:**\n", "rolout_percentage"}},
		"no key":           {good, "", "", ghScript(""), false, []string{"No errors.\n", "Without a key of the server there is no plan."}},
		"no server":        {good, "http://127.0.0.1:1", "phx_x", ghScript(""), true, []string{"**`bunting flags plan` has failed:**\n", "    "}},
		"a long report":    {`{"flags": [` + many + `]}`, "", "", "exit 1", true, []string{"The report is longer than a comment can be"}},
		"comments refused": {good, "", "", "exit 1", false, []string{"No errors.\n"}},
	} {
		j := newCIJob(t, map[string]string{"inputs.files": "flags.json", "inputs.server": tt.server, "inputs.key": tt.key, "github.event.pull_request.number": "7"}, tt.gh, "")
		j.file("flags.json", tt.flags)
		out, err := j.run()
		if (err != nil) != tt.fails {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		if hasWarning := strings.Contains(out, "::warning::bunting could not comment"); hasWarning != (tt.gh == "exit 1") {
			t.Errorf("%s: %s", name, out)
		}
		report := j.read("summary")
		for _, want := range tt.want {
			if !strings.Contains(report, want) {
				t.Errorf("%s: no %q in\n%.2000s", name, want, report)
			}
		}
		for line := range strings.Lines(report) {
			if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "# ") {
				t.Errorf("%s: %q leaves its block", name, line)
			}
		}
		if len(report) > 65536 {
			t.Errorf("%s: %d bytes", name, len(report))
		}
	}
}

// The archive of a release is downloaded for this machine, compared with the list of checksums, and
// its program used by the next steps. Another archive fails the job.
func TestCI_Install(t *testing.T) {
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	w := tar.NewWriter(compressed)
	const script = "#!/bin/sh\necho archived\n"
	err := w.WriteHeader(&tar.Header{Name: "bunting", Mode: 0o755, Size: int64(len(script))})
	if err == nil {
		_, err = w.Write([]byte(script))
	}
	if err != nil || w.Close() != nil || compressed.Close() != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("bunting_0.1.0_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	for what, tt := range map[string]struct {
		sum   [32]byte
		named string
		want  string
	}{
		"a release":         {sha256.Sum256(archive.Bytes()), name, ""},
		"another archive":   {sha256.Sum256(nil), name, "FAILED"},
		"no such checksum":  {sha256.Sum256(archive.Bytes()), "other.tar.gz", "checksums.txt does not have " + name},
		"a name in another": {sha256.Sum256(archive.Bytes()), "x" + name, "checksums.txt does not have " + name},
	} {
		const curl = `while [ $# -gt 2 ]; do [ "$1" = --output ] && out=$2; shift; done
echo "$2" >> "$RUNNER_TEMP/addresses"; cp "$RUNNER_TEMP/release/${2##*/}" "$out"`
		j := newCIJob(t, map[string]string{"inputs.version": "v0.1.0", "inputs.files": "flags.json", "inputs.comment": "false"}, "", curl)
		j.file("release/"+name, archive.String())
		j.file("release/checksums.txt", fmt.Sprintf("%064x  z.rpm\n%x  %s\n", 0, tt.sum, tt.named))
		j.file("flags.json", `{"flags": []}`)
		out, err := j.run()
		if (err != nil) != (tt.want != "") || !strings.Contains(out, tt.want) {
			t.Errorf("%s: %v, want %q in\n%s", what, err, tt.want, out)
		}
		if from := "https://github.com/bunting-flags/bunting/releases/download/v0.1.0/"; j.read("addresses") != from+name+"\n"+from+"checksums.txt\n" {
			t.Errorf("%s: %s", what, j.read("addresses"))
		}
		if tt.want != "" {
			continue
		}
		if path := strings.TrimSpace(j.read("path")); path != filepath.Join(j.dir, "bunting") || !strings.Contains(j.read("bunting/bunting"), "archived") {
			t.Errorf("%s: PATH gets %s", what, path)
		}
	}
}

// The job for GitLab is valid, and its script writes the report, sends it as a note, and fails for an
// error in the file.
func TestCI_GitLab(t *testing.T) {
	text, err := os.ReadFile("ci/gitlab.yml")
	if err != nil {
		t.Fatal(err)
	}
	var jobs map[string]struct {
		Script []string
	}
	if err := yaml.Unmarshal(text, &jobs); err != nil || len(jobs["bunting-flags"].Script) != 1 {
		t.Fatalf("%v: %v", err, jobs)
	}
	script := strings.ReplaceAll(jobs["bunting-flags"].Script[0], "/opt/bunting/share/", "$GITHUB_ACTION_PATH/")
	for name, tt := range map[string]struct {
		percentage string
		want       string
		code       int
	}{
		"good":     {"rollout_percentage", "No errors.", 0},
		"an error": {"rolout_percentage", "reports errors", 1},
	} {
		j := newCIJob(t, nil, "", `echo "$*" > note`)
		j.file("flags.json", `{"flags": [{"id": 1, "key": "a", "active": true, "filters": {"groups": [{"`+tt.percentage+`": 5}]}}]}`)
		cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
		cmd.Dir = j.dir
		cmd.Env = append(j.env, "FLAGS_FILES=flags.json", "GITLAB_TOKEN=glpat-x", "CI_API_V4_URL=https://gitlab.example.com/api/v4", "CI_PROJECT_ID=5", "CI_MERGE_REQUEST_IID=6")
		out, _ := cmd.CombinedOutput()
		clitest.Result{Code: cmd.ProcessState.ExitCode(), Stdout: string(out)}.Want(t, tt.code, tt.want, "")
		if note := j.read("note"); !strings.Contains(note, "--header PRIVATE-TOKEN: glpat-x --data-urlencode body@bunting-report.md https://gitlab.example.com/api/v4/projects/5/merge_requests/6/notes") || !strings.Contains(j.read("bunting-report.md"), tt.want) {
			t.Errorf("%s: %s", name, note)
		}
	}
}
