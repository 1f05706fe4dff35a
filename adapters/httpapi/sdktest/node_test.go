//go:build sdk

package sdktest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/bunting-flags/bunting/flags"
)

// nodeZone is the time zone of the Node process: not UTC, to detect dates that are parsed in local
// time.
const nodeZone = "America/New_York"

// nodePackage is an npm package with a Node for machines whose version posthog-node does not
// support.
const nodePackage = "node@22.23.3"

// nodeFits reports whether posthog-node supports a version: ^20.20 or >= 22.22.
func nodeFits(version string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(version, "v%d.%d", &major, &minor); err != nil {
		return false
	}
	return major == 20 && minor >= 20 || major == 22 && minor >= 22 || major > 22
}

// installed installs the clients in the versions of package-lock.json, unless they are installed.
var installed = sync.OnceValue(func() error {
	versions, err := lockedVersions("package-lock.json")
	if err != nil {
		return err
	}
	if have, err := lockedVersions(filepath.Join("node_modules", ".package-lock.json")); err == nil && maps.Equal(have, versions) {
		return nil
	}
	out, err := exec.Command("npm", "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund").CombinedOutput()
	if err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return nil
})

// lockedVersions returns the versions of all packages, by their folders.
func lockedVersions(path string) (map[string]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct{ Version string }
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	versions := map[string]string{}
	for folder, p := range lock.Packages {
		if folder != "" { // "" is this module
			versions[folder] = p.Version
		}
	}
	return versions, nil
}

// node is a Node process with clients, controlled by a script.
type node struct {
	t   testing.TB
	in  *json.Encoder
	out *bufio.Reader
}

// startNode starts the script for posthog-node.
func startNode(t testing.TB) *node { return startScript(t, "driver.mjs") }

func startScript(t testing.TB, script string) *node {
	t.Helper()
	if err := installed(); err != nil {
		t.Fatal(err)
	}
	command := []string{"node", script}
	if version, err := exec.Command("node", "--version").Output(); err != nil || !nodeFits(string(version)) {
		command = []string{"npm", "exec", "--yes", "--package=" + nodePackage, "--", "node", script}
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "TZ="+nodeZone)
	cmd.Stderr = &tail{}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close() // ends the script
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Logf("node: %v\n%s", err, cmd.Stderr)
		}
	})
	return &node{t, json.NewEncoder(stdin), bufio.NewReader(stdout)}
}

// object is a JSON object for the script.
type object = map[string]any

// do calls a function of the script; result may be nil.
func (n *node) do(name string, args object, result any) {
	n.t.Helper()
	call := object{"name": name}
	for k, v := range args {
		call[k] = v
	}
	if err := n.in.Encode(call); err != nil {
		n.t.Fatal(err)
	}
	line, err := n.out.ReadBytes('\n')
	if err != nil {
		n.t.Fatalf("%s: %v", name, err)
	}
	var answer struct {
		Result json.RawMessage
		Error  string
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		n.t.Fatalf("%s: %v in %s", name, err, line)
	}
	if answer.Error != "" {
		n.t.Fatalf("%s: %s", name, answer.Error)
	}
	if result != nil && answer.Result != nil {
		if err := json.Unmarshal(answer.Result, result); err != nil {
			n.t.Fatalf("%s: %v in %s", name, err, line)
		}
	}
}

// open creates a client that polls only on request.
func (n *node) open(client string, s *server, p *project, options object) {
	n.t.Helper()
	all := object{"host": s.URL, "featureFlagsPollingInterval": 3600000, "requestTimeout": 20000, "flushAt": 1000, "fetchRetryCount": 0}
	for k, v := range options {
		all[k] = v
	}
	n.do("open", object{"client": client, "key": p.APIKey, "options": all, "forwardedFor": "203.0.113.7"}, nil)
}

// method calls a method of a client.
func (n *node) method(client, method string, result any, args ...any) {
	n.t.Helper()
	if args == nil {
		args = []any{}
	}
	n.do("call", object{"client": client, "method": method, "args": args}, result)
}

// forNode returns the subject in the form of posthog-node: it has no field for the device id, which
// is a person property instead.
func (s *subject) forNode() *subject {
	if s.DeviceID == nil || *s.DeviceID == "" {
		return s
	}
	out := *s
	out.DeviceID = nil
	out.Person = flags.Properties{"$device_id": *s.DeviceID}
	for k, v := range s.Person {
		out.Person[k] = v
	}
	return &out
}

func nodeOptions(s *subject) object {
	return object{"personProperties": s.Person, "groups": s.Groups, "groupProperties": s.GroupProperties}
}

// evaluate requests the flags of subjects, with additional options for all.
func (n *node) evaluate(client string, subjects []*subject, options object) []answers {
	n.t.Helper()
	questions := make([]object, len(subjects))
	for i, s := range subjects {
		all := nodeOptions(s)
		for k, v := range options {
			all[k] = v
		}
		questions[i] = object{"distinctId": s.DistinctID, "options": all}
	}
	var got []map[string]struct {
		Value   any
		Payload json.RawMessage
	}
	n.do("evaluate", object{"client": client, "questions": questions}, &got)
	if len(got) != len(subjects) {
		n.t.Fatalf("%d answers for %d subjects", len(got), len(subjects))
	}
	out := make([]answers, len(got))
	for i := range got {
		out[i] = answers{}
		for key, a := range got[i] {
			out[i][key] = answer{a.Value, sortedJSON(a.Payload)}
		}
	}
	return out
}
