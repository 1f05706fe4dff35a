package client

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

// The command line of a managed command: its action, arguments, options, server and key. Every
// refusal is found before a request is sent.
func TestManager_CommandLine(t *testing.T) {
	t.Parallel()
	commands := []cli.Command{Flags, Projects, Usage, Status, Keys(func(_ context.Context, p *cli.Program, args []string) error {
		return p.Print("recovering " + strings.Join(args, " "))
	})}
	runCommandRows(t, commands, map[string]commandRow{
		"no action":                      {args: []string{"projects"}, code: 2, stderr: "projects: give an action: list, get, create, rename, delete\n"},
		"an option before the action":    {args: []string{"projects", "--json", "list"}, code: 2, stderr: "projects: give an action: "},
		"an unknown action":              {args: []string{"projects", "eat"}, code: 2, stderr: `projects: unknown action "eat", must be one of list, get, create, rename, delete` + "\n"},
		"a misspelled action":            {args: []string{"projects", "lst"}, code: 2, stderr: "did you mean list?"},
		"no argument":                    {args: []string{"projects", "get"}, code: 2, stderr: "projects: get takes ID\n"},
		"one of two arguments":           {args: []string{"projects", "rename", "1"}, code: 2, stderr: "projects: rename takes ID and NAME\n"},
		"an argument too many":           {args: []string{"projects", "list", "x"}, code: 2, stderr: "projects: list takes no argument\n"},
		"a command of one action":        {args: []string{"usage", "x"}, code: 2, stderr: "usage: usage takes no argument\n"},
		"a misspelled option":            {args: []string{"projects", "list", "--jsn"}, code: 2, stderr: "projects: there is no option --jsn; did you mean --json?"},
		"an option of other actions":     {args: []string{"projects", "list", "--yes"}, code: 2, stderr: "there is no option --yes"},
		"no project option without need": {args: []string{"keys", "list", "--project", "1"}, code: 2, stderr: "there is no option --project"},
		"a file of an action without":    {args: []string{"flags", "list", "flags.json"}, code: 2, stderr: "flags: list takes no argument\n"},
		"an empty key":                   {args: []string{"projects", "list", "--key", ""}, code: 2, stderr: "projects: --key is missing: use the key that the server's first start printed, or run bunting login\n"},
		"a server without a scheme":      {args: []string{"projects", "list", "--server", "flags.example.com"}, code: 2, stderr: `projects: --server: must be a URL such as http://127.0.0.1:8000, not "flags.example.com"` + "\n"},
		"a server of another scheme":     {args: []string{"projects", "list", "--server", "ftp://flags.example.com"}, code: 2, stderr: "must be a URL"},
		"a server without a host":        {args: []string{"projects", "list", "--server", "https:///api"}, code: 2, stderr: "must be a URL"},
		"an action without a server":     {args: []string{"keys", "recover", "--server", "not used"}, stdout: "recovering --server not used"},
		"a refused key":                  {args: []string{"projects", "get", "1"}, answers: map[string]string{"GET /api/projects/1/": `401 {"detail":"bad key"}`}, sent: []string{"GET /api/projects/1/"}, code: 1, stderr: "bunting: the server answered 401: bad key\n"},
		"an error of another server":     {args: []string{"projects", "get", "1"}, answers: map[string]string{"GET /api/projects/1/": `418 <html>`}, sent: []string{"GET /api/projects/1/"}, code: 1, stderr: "bunting: the server answered 418 I'm a teapot\n"},
		"an answer that is not JSON":     {args: []string{"projects", "get", "1"}, answers: map[string]string{"GET /api/projects/1/": `<html>`}, sent: []string{"GET /api/projects/1/"}, code: 1, stderr: "bunting: the server's response to GET /api/projects/1/ cannot be read: "},
	})
}

// The help of an action is that of its command.
func TestManager_HelpOfActions(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"projects", "-h"}, {"projects", "--help"}, {"projects", "list", "--help"}, {"usage", "-h"}} {
		r := clitest.Call(context.Background(), []cli.Command{Projects, Usage}, "", nil, args...)
		if r.Code != cli.ExitOK || !strings.Contains(r.Stdout, "Usage: bunting "+args[0]) || r.Stderr != "" {
			t.Errorf("%v: exit %d, %q, %q", args, r.Code, r.Stdout, r.Stderr)
		}
	}
}

// The server and the key come from the command line, then from the environment, then from the last
// sign-in. A key belongs to its server: it is not sent to another one.
func TestManager_ServerAndKey(t *testing.T) {
	t.Parallel()
	const first, second = "http://one.example", "https://two.example"
	stored := signIns{Last: first, Servers: map[string]signIn{first: {Key: "phx_one"}, second: {Key: "phx_two"}}}
	for name, c := range map[string]struct {
		stored      signIns
		server, key string
		wantServer  string
		wantKey     string
	}{
		"nothing":                  {signIns{}, "", "", defaultServer, ""},
		"the last sign-in":         {stored, "", "", first, "phx_one"},
		"another server":           {stored, second, "", second, "phx_two"},
		"the slash at the end":     {stored, second + "/", "", second + "/", "phx_two"},
		"capital letters":          {stored, "HTTPS://TWO.example", "", "HTTPS://TWO.example", "phx_two"},
		"a server without a key":   {stored, "http://three.example", "", "http://three.example", ""},
		"the key of the command":   {stored, first, "phx_own", first, "phx_own"},
		"only the key":             {stored, "", "phx_own", first, "phx_own"},
		"signed out everywhere":    {signIns{Servers: map[string]signIn{}}, "", "", defaultServer, ""},
		"the key of the default":   {signIns{Servers: map[string]signIn{defaultServer: {Key: "phx_local"}}}, "", "", defaultServer, "phx_local"},
		"a last one without a key": {signIns{Last: first}, "", "", first, ""},
	} {
		server, key := c.server, c.key
		if c.stored.use(&server, &key); server != c.wantServer || key != c.wantKey {
			t.Errorf("%s: %s with %q, want %s with %q", name, server, key, c.wantServer, c.wantKey)
		}
	}
}

// A command that changes a project names it on the standard error, since other programs read the
// output; --project selects it by number, name or key.
func TestManager_Project(t *testing.T) {
	t.Parallel()
	const list = "GET /api/projects/1/feature_flags/?search=f&limit=500&offset=0"
	flag := `{"id":7,"key":"f","active":true,"version":2,"filters":{"groups":[{}]}}`
	answers := map[string]string{list: cannedPage(flag), "PATCH /api/projects/1/feature_flags/7/": flag}
	patched := []string{list, `PATCH /api/projects/1/feature_flags/7/ {"active":true}`}
	table := "KEY STATE WHO VARIANTS VERSION NAME\nf on 100% - 2 -"
	rows := map[string]commandRow{
		"a write":      {args: []string{"flags", "enable", "f"}, answers: answers, sent: patched, stdout: table, stderr: "in project 1 (Shop)\n"},
		"by name":      {args: []string{"flags", "enable", "f", "--project", "Shop"}, answers: answers, sent: patched, stdout: table, stderr: "in project 1 (Shop)\n"},
		"by key":       {args: []string{"flags", "enable", "f", "--project", "phc_good"}, answers: answers, sent: patched, stdout: table, stderr: "in project 1 (Shop)\n"},
		"by variable":  {args: []string{"flags", "enable", "f"}, env: []string{"BUNTING_PROJECT=Shop"}, answers: answers, sent: patched, stdout: table, stderr: "in project 1 (Shop)\n"},
		"a failed one": {args: []string{"flags", "enable", "g"}, answers: map[string]string{strings.Replace(list, "=f", "=g", 1): cannedPage(flag)}, sent: []string{strings.Replace(list, "=f", "=g", 1)}, code: 1, stderr: `bunting: flag "g": there is no such flag` + "\n"},
	}
	runCommandRows(t, []cli.Command{Flags}, rows)
}

// With --json a command prints the server's response, with all members that it does not know.
func TestManager_JSON(t *testing.T) {
	t.Parallel()
	s := newCannedServer(t, map[string]string{
		"GET /api/projects/1/":                                  `{"id":1,"name":"<&>","unknown":[12345678901234567890,1.0]}`,
		"GET /api/projects/1/feature_flags/?limit=500&offset=0": cannedPage(`{"key":"f","unknown":1.50}`),
	})
	for command, want := range map[string]string{
		"projects get 1": `{"id":1,"name":"<&>","unknown":[12345678901234567890,1.0]}`,
		"flags list":     `[{"key":"f","unknown":1.50}]`,
	} {
		args := append(strings.Fields(command), "--json", "--server", s.URL, "--key", "k")
		r := clitest.Call(context.Background(), []cli.Command{Projects, Flags}, "", nil, args...)
		if got := strings.Join(strings.Fields(r.Stdout), ""); got != want || r.Code != cli.ExitOK {
			t.Errorf("%s: exit %d, %s, want %s", command, r.Code, got, want)
		}
		if !strings.HasSuffix(r.Stdout, "\n") || strings.Count(r.Stdout, "\n") < 3 {
			t.Errorf("%s: not indented: %q", command, r.Stdout)
		}
	}
}

// A list is read to its end. A page without objects ends it too, even if the count is larger:
// objects may be deleted meanwhile.
func TestManager_Pages(t *testing.T) {
	t.Parallel()
	page := func(count int, keys ...string) string {
		objects := make([]string, len(keys))
		for i, key := range keys {
			objects[i] = fmt.Sprintf("%q", key)
		}
		return fmt.Sprintf(`{"count":%d,"results":[%s]}`, count, strings.Join(objects, ","))
	}
	for name, c := range map[string]struct {
		path    string
		answers map[string]string
		want    string
		sent    int
	}{
		"none":                {"/l/", map[string]string{"GET /l/?limit=500&offset=0": page(0)}, "", 1},
		"one page":            {"/l/", map[string]string{"GET /l/?limit=500&offset=0": page(2, "a", "b")}, "a b", 1},
		"three pages":         {"/l/", map[string]string{"GET /l/?limit=500&offset=0": page(5, "a", "b"), "GET /l/?limit=500&offset=2": page(5, "c", "d"), "GET /l/?limit=500&offset=4": page(5, "e")}, "a b c d e", 3},
		"some are deleted":    {"/l/", map[string]string{"GET /l/?limit=500&offset=0": page(3, "a", "b"), "GET /l/?limit=500&offset=2": page(3)}, "a b", 2},
		"some are added":      {"/l/", map[string]string{"GET /l/?limit=500&offset=0": page(1, "a", "b")}, "a b", 1},
		"a path with a query": {"/l/?q=x", map[string]string{"GET /l/?q=x&limit=500&offset=0": page(1, "a")}, "a", 1},
	} {
		s := newCannedServer(t, c.answers)
		client, err := newAPIClient(s.URL, "k")
		if err != nil {
			t.Fatal(err)
		}
		list, err := pages[string](context.Background(), client, c.path)
		client.close()
		if got := strings.Join(list, " "); err != nil || got != c.want || len(s.requests) != c.sent {
			t.Errorf("%s: %q of %d requests, %v; want %q of %d", name, got, len(s.requests), err, c.want, c.sent)
		}
	}
}

// A state file that cannot be read is an error that names it; a missing file is no error. The
// written state is read back.
func TestState_Files(t *testing.T) {
	t.Parallel()
	type state struct{ Line int }
	path := filepath.Join(t.TempDir(), "state")
	var s state
	if found, err := readState(path, &s); found || err != nil {
		t.Errorf("no file: %v, %v", found, err)
	}
	if err := writeState(path, state{7}); err != nil {
		t.Fatal(err)
	}
	if found, err := readState(path, &s); !found || err != nil || s.Line != 7 {
		t.Errorf("%v, %v, %+v", found, err, s)
	}
	for _, text := range []string{"", "{", `{"Line":"x"}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := readState(path, &s)
		if found || err == nil || !strings.Contains(err.Error(), path+" cannot be read: ") || !strings.HasSuffix(err.Error(), "; remove it to start over") {
			t.Errorf("%q: %v, %v", text, found, err)
		}
	}
	if _, err := readState(t.TempDir(), &s); err == nil {
		t.Error("a folder is read as a file")
	}
}
