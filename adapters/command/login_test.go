package command

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

var printedUserCode = regexp.MustCompile(`Confirm the code ([A-Z]{4}-[A-Z]{4}) at`)

// clients.md §14.2: a signed-in user confirms the code, after which the other commands use the key,
// for that server only. Only its user may read the file of the key.
func TestLogin(t *testing.T) {
	s := serve(t, 0)
	t.Cleanup(func() { s.stop(); s.wait(0) })
	home := t.TempDir()
	env := []string{"XDG_CONFIG_HOME=" + home}
	call(t, "", env, "flags", "list", "--server", s.url).Want(t, cli.ExitUsage, "", "or run bunting login")

	// A user signs in with the link of the first start.
	r, err := http.NewRequest(http.MethodPost, s.url+"/api/session/", strings.NewReader(`{"link": "`+printedLink.FindStringSubmatch(s.stdout.String())[2]+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if len(res.Cookies()) != 1 {
		t.Fatal(res.Status)
	}
	as := func(path, body string) int {
		r, err := http.NewRequest(http.MethodPost, s.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.AddCookie(res.Cookies()[0])
		status, _ := do(t, r)
		return status
	}

	login := func(confirm func(code string)) (int, string) {
		stdout, stderr, ended := clitest.NewOutput(), clitest.NewOutput(), make(chan int, 1)
		go func() {
			ended <- run(t.Context(), []string{"login", "--server", s.url + "/"}, strings.NewReader(""), stdout, stderr, env)
		}()
		for printedUserCode.FindString(stderr.String()) == "" {
			<-stderr.OnWrite
		}
		confirm(printedUserCode.FindStringSubmatch(stderr.String())[1])
		code := <-ended
		return code, stdout.String() + stderr.String()
	}
	if code, output := login(func(code string) { as("/api/cli-auth/refuse/", `{"user_code": "`+code+`"}`) }); code != cli.ExitError || !strings.Contains(output, "refused or has expired") {
		t.Errorf("refused: %d %s", code, output)
	}
	code, output := login(func(code string) {
		if status := as("/api/cli-auth/authorize/", `{"user_code": "`+code+`", "project_id": 1}`); status != http.StatusOK {
			t.Errorf("allowing it: %d", status)
		}
	})
	if code != 0 || !strings.Contains(output, "signed in to "+s.url+", project 1") {
		t.Fatal(code, output)
	}
	file := filepath.Join(home, "bunting", "sign-in.json")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v", file, info.Mode(), err)
	}
	call(t, "", env, "flags", "set", "new", "--rollout", "100").Want(t, 0, "100%", "in project 1")
	call(t, "", env, "flags", "list", "--server", "http://127.0.0.1:1").Want(t, cli.ExitUsage, "", "--key is missing")
	call(t, "", env, "logout").Want(t, 0, "stays valid", "")
	call(t, "", env, "logout", "--server", s.url).Want(t, cli.ExitError, "", "is not signed in to")
	call(t, "", env, "flags", "list", "--server", s.url).Want(t, cli.ExitUsage, "", "--key is missing")
}
