package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/remote/lastgood"
)

const loginHelp = `Usage: bunting login [OPTIONS]

Signs this machine in to a server. The command shows a code, which you confirm in
the server's console, and stores the key that the server then creates. The other
commands use this key if neither --key nor BUNTING_KEY is given. It gives access to
the one project that you choose in the console.

  --server URL      http://127.0.0.1:8000 by default, or BUNTING_SERVER
  --scopes LIST     scopes of the key, such as feature_flag:write,query:read;
                    * (default) is everything that you may do
  --json            print JSON
`

const logoutHelp = `Usage: bunting logout [OPTIONS]

Removes the key that bunting login has stored for a server from this machine. The
key itself stays valid until it is revoked: in the console under your account, or
with bunting keys revoke.

  --server URL      http://127.0.0.1:8000 by default, or BUNTING_SERVER
`

// signIns are the servers to which the user has signed in. Only that user may read the file.
type signIns struct {
	// Last is the server of the last sign-in. Commands use it if no server is named.
	Last    string            `json:"last"`
	Servers map[string]signIn `json:"servers"`
}

type signIn struct {
	Key   string `json:"key"`
	Label string `json:"label"`
}

// signInFile returns the path of the file of sign-ins, or "" if there is no folder for it.
func signInFile(env map[string]string) string {
	dir := ""
	switch runtime.GOOS {
	case "windows":
		dir = env["AppData"]
	case "darwin":
		if home := env["HOME"]; home != "" {
			dir = filepath.Join(home, "Library", "Application Support")
		}
	default:
		if dir = env["XDG_CONFIG_HOME"]; dir == "" && env["HOME"] != "" {
			dir = filepath.Join(env["HOME"], ".config")
		}
	}
	if !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, "bunting", "sign-in.json")
}

// readSignIns reads the file of sign-ins; a missing file is no error.
func readSignIns(p *cli.Program) (s signIns, err error) {
	if path := signInFile(p.Env); path != "" {
		_, err = readState(path, &s)
	}
	return s, err
}

// writeSignIns writes the file, which only its user may read.
func writeSignIns(p *cli.Program, s *signIns) error {
	path := signInFile(p.Env)
	if path == "" {
		return errors.New("there is no folder to store the key in: HOME is not set")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	text, err := cli.Indent(s)
	if err != nil {
		return err
	}
	return lastgood.Replace(path, 0o600, []byte(text))
}

// serverName normalizes a server's URL as the key of the file.
func serverName(server string) string { return strings.ToLower(strings.TrimRight(server, "/")) }

// use sets the server and the key if neither the command line nor the environment sets them.
func (s *signIns) use(server, key *string) {
	*server = cmp.Or(*server, s.Last, defaultServer)
	if *key == "" {
		*key = s.Servers[serverName(*server)].Key
	}
}

// programCodes is the server's response at the beginning of a sign-in.
type programCodes struct {
	Device   string `json:"device_code"`
	User     string `json:"user_code"`
	Address  string `json:"verification_uri"`
	Complete string `json:"verification_uri_complete"`
	Expires  int    `json:"expires_in"`
	Interval int    `json:"interval"`
}

// loginResult is the server's response to a poll.
type loginResult struct {
	Status  string `json:"status"`
	Key     string `json:"personal_api_key"`
	Label   string `json:"label"`
	Project string `json:"project_id"`
}

var loginAction = action{worksWithoutKey: true, options: func(m *manager) runner {
	scopes := m.fs.String("scopes", "*", "")
	return func(ctx context.Context, m *manager, _ []string) error {
		var codes programCodes
		body := map[string]any{"client": "bunting", "scopes": strings.Split(*scopes, ",")}
		if err := m.send(ctx, http.MethodPost, "/api/cli-auth/device-code/", body, &codes); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(m.Stderr, "Confirm the code %s at\n\n  %s\n\nwaiting for confirmation…\n", codes.User, cmp.Or(codes.Complete, codes.Address))
		in, err := m.awaitProgram(ctx, &codes)
		if err != nil {
			return err
		}
		signIns, err := readSignIns(m.Program)
		if err != nil {
			return err
		}
		if signIns.Servers == nil {
			signIns.Servers = map[string]signIn{}
		}
		signIns.Last = serverName(*m.server)
		signIns.Servers[signIns.Last] = signIn{in.Key, in.Label}
		if err := writeSignIns(m.Program, &signIns); err != nil {
			return err
		}
		if *m.asJSON {
			return m.printJSON(map[string]any{"server": signIns.Last, "project_id": in.Project, "label": in.Label})
		}
		return m.Print(fmt.Sprintf("signed in to %s, project %s; the key is called %q\n", signIns.Last, in.Project, cli.Cell(in.Label)))
	}
}}

// awaitProgram polls until the code is confirmed, refused or expired.
func (m *manager) awaitProgram(ctx context.Context, codes *programCodes) (*loginResult, error) {
	for {
		if err := m.client.pause(ctx, time.Duration(max(codes.Interval, 1))*time.Second); err != nil {
			return nil, err
		}
		var in loginResult
		err := m.send(ctx, http.MethodPost, "/api/cli-auth/poll/", map[string]any{"device_code": codes.Device}, &in)
		switch {
		case statusOf(err) == http.StatusBadRequest:
			return nil, errors.New("not signed in: the code was refused or has expired; run bunting login again")
		case err != nil:
			return nil, err
		case in.Key != "":
			return &in, nil
		}
	}
}

var logoutAction = action{worksWithoutKey: true, run: func(_ context.Context, m *manager, _ []string) error {
	signIns, err := readSignIns(m.Program)
	if err != nil {
		return err
	}
	name := serverName(*m.server)
	of, there := signIns.Servers[name]
	if !there {
		return fmt.Errorf("this machine is not signed in to %s", name)
	}
	delete(signIns.Servers, name)
	if signIns.Last == name {
		signIns.Last = ""
	}
	if err := writeSignIns(m.Program, &signIns); err != nil {
		return err
	}
	return m.Print(fmt.Sprintf("signed out; the key %q stays valid until it is revoked\n", cli.Cell(of.Label)))
}}
