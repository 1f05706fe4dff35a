package command

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

// The project of a command is never chosen by the server: it is set by the option, else by the
// variable, else it is the only project, else the command returns an error that lists the projects.
// Each write names the project that it changed.
func TestProject_OfTheCommandLine(t *testing.T) {
	s := serve(t, time.Minute)
	key := printedKey.FindString(s.stdout.String())
	env := []string{"BUNTING_SERVER=" + s.url, "BUNTING_KEY=" + key}
	call(t, "", env, "flags", "set", "a").Want(t, cli.ExitOK, "100%", "in project 1 (Default project)\n")
	call(t, "", env, "flags", "list").Want(t, cli.ExitOK, "100%", "")
	call(t, "", env, "projects", "create", "Staging").Want(t, cli.ExitOK, "Staging", "")

	list := "bunting:   1  Default project\nbunting:   2  Staging\n"
	for _, args := range [][]string{
		{"flags", "list"}, {"flags", "set", "a", "--rollout", "5"}, {"export"}, {"import", "--key", key, "-"},
	} {
		in := ""
		if args[0] == "import" || args[0] == "export" {
			args = append(args, "--server", s.url)
			in = `{"type": "group", "group_type": "company", "group_key": "acme"}`
		}
		r := call(t, in, env, args...)
		r.Want(t, cli.ExitUsage, "", "no project is given")
		if !strings.Contains(r.Stderr, list) {
			t.Errorf("%v: the projects are not listed: %s", args, r.Stderr)
		}
	}
	call(t, "", env, "flags", "set", "b", "--project", "2").Want(t, cli.ExitOK, "b ", "in project 2 (Staging)\n")
	env = append(env, "BUNTING_PROJECT=Staging")
	call(t, "", env, "flags", "set", "b", "--rollout", "5", "--json").Want(t, cli.ExitOK, `"version": 2`, "in project 2 (Staging)\n")
	call(t, "", env, "flags", "disable", "a", "--project", "1").Want(t, cli.ExitOK, "off", "in project 1 (Default project)\n")
	call(t, "", env, "flags", "list", "--project", "@current").Want(t, cli.ExitOK, "a ", "")
	call(t, "", env, "flags", "list", "--project", "Stagin").Want(t, cli.ExitUsage, "", `there is no project "Stagin"`)
	call(t, "", env, "flags", "list", "--project", "3").Want(t, cli.ExitUsage, "", list)
	call(t, `{"type": "group", "group_type": "company", "group_key": "acme"}`, env, "import", "--server", s.url, "-").
		Want(t, cli.ExitOK, "", "1 persons and groups imported, 0 refused, 0 left out, in project 2 (Staging)")

	var second struct {
		Token string `json:"api_token"`
	}
	if err := json.Unmarshal([]byte(call(t, "", env, "projects", "get", "2", "--json").Stdout), &second); err != nil {
		t.Fatal(err)
	}
	call(t, "", env[:2], "flags", "enable", "b", "--project", second.Token).Want(t, cli.ExitOK, "on", "in project 2 (Staging)\n")

	// A name that two projects share selects neither.
	call(t, "", env, "projects", "create", "Staging").Want(t, cli.ExitOK, "Staging", "")
	call(t, "", env, "flags", "list").Want(t, cli.ExitUsage, "", `several projects have the name "Staging"`)

	// A key of one project needs no project name; a key that may not list projects needs one.
	one := printedKey.FindString(call(t, "", env, "keys", "create", "--label", "one", "--projects", "2").Stdout)
	call(t, "", env[:1], "flags", "enable", "b", "--key", one).Want(t, cli.ExitOK, "on", "in project 2 (Staging)\n")
	two := printedKey.FindString(call(t, "", env, "keys", "create", "--label", "two", "--projects", "2,3").Stdout)
	call(t, "", env[:1], "flags", "list", "--key", two).Want(t, cli.ExitUsage, "", "bunting:   2  Staging\nbunting:   3  Staging\n")
	blind := printedKey.FindString(call(t, "", env, "keys", "create", "--label", "blind", "--scopes", "feature_flag:write").Stdout)
	call(t, "", env[:1], "flags", "list", "--key", blind).Want(t, cli.ExitUsage, "", "the key cannot list the projects")
	call(t, "", env[:1], "flags", "enable", "b", "--key", blind, "--project", "2").Want(t, cli.ExitOK, "on", "in project 2\n")

	call(t, "", env, "keys", "list", "--project", "1").Want(t, cli.ExitUsage, "", "-project")
	s.stop()
	s.wait(0)
}

// A command gives up soon if the server is unreachable. TestAPIClient_Retries proves the durations.
func TestProject_StoppedServer(t *testing.T) {
	s := serve(t, time.Minute)
	key := printedKey.FindString(s.stdout.String())
	s.stop()
	s.wait(0)
	for _, args := range [][]string{{"flags", "list"}} {
		r := call(t, "", nil, append(args, "--server", s.url, "--key", key)...)
		r.Want(t, cli.ExitError, "", "no answer from "+s.url+": ")
		if strings.Contains(r.Stderr, "trying again in 4s") {
			t.Errorf("%v waits too long: %s", args, r.Stderr)
		}
	}
}
