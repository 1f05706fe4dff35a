package command

import (
	"flag"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var long = flag.Bool("long", false, "compile and run the server as the modules of a release contain it")

// decided is a flag of the demo that is on for addresses of example.com.
const decided = "beta-program"

// A service that requires modules as a release publishes them decides a flag: with the engine and the
// client, and with -long also with the server.
func TestModules_ServiceDecides(t *testing.T) {
	t.Run("client", clientDecides)
	if *long {
		t.Run("server", serverDecides)
	}
}

func clientDecides(t *testing.T) {
	s := service{t.TempDir(), publishedModules(t)}
	s.write(t, `package main

import (
	"context"
	"fmt"
	"os"

	"`+module+`/adapters/remote"
	"`+module+`/flags"
)

func main() {
	definitions, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	client, err := remote.New(remote.Config{ProjectKey: "phc_demo", Dir: os.Args[2], Bundle: definitions, Offline: true})
	if err != nil {
		panic(err)
	}
	for _, address := range os.Args[3:] {
		ana := &flags.Subject{DistinctID: "ana", Person: flags.Properties{"email": address}}
		fmt.Println(client.Bool(context.Background(), "`+decided+`", ana, false))
	}
}
`, "flags", "adapters/remote")
	s.wantDecided(t)
}

// serverDecides: a program that embeds the server reads its flags through OpenFeature and with the client.
// The page's go install compiles a program that prints its version, starts with the page's commands, and
// decides the same.
func serverDecides(t *testing.T) {
	s := service{t.TempDir(), publishedModules(t)}
	s.write(t, `package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"

	"github.com/open-feature/go-sdk/openfeature"

	"`+module+`/adapters/ofprovider"
	"`+module+`/adapters/remote"
	"`+module+`/adapters/server"
	"`+module+`/flags"
)

func main() {
	ctx := context.Background()
	s, err := server.Open(ctx, server.Options{Definitions: os.Args[1:2]})
	if err != nil {
		panic(err)
	}
	defer s.Close(ctx)
	listener := httptest.NewServer(s.Handler())
	defer listener.Close()
	client, err := remote.New(remote.Config{URL: listener.URL, ProjectKey: "phc_demo", Key: "phs_demo", Dir: os.Args[2]})
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)
	if err := client.WaitForReady(ctx); err != nil {
		panic(err)
	}
	if err := openfeature.SetProviderAndWait(ofprovider.New(s.Decider(), "phc_demo")); err != nil {
		panic(err)
	}
	for _, address := range os.Args[3:] {
		ana := &flags.Subject{DistinctID: "ana", Person: flags.Properties{"email": address}}
		user := openfeature.NewEvaluationContext("ana", map[string]any{"email": address})
		value := openfeature.NewClient("shop").Boolean(ctx, "`+decided+`", false, user)
		if other := client.Bool(ctx, "`+decided+`", ana, false); other != value {
			panic(fmt.Sprintf("the client says %v, OpenFeature %v", other, value))
		}
		fmt.Println(value)
	}
}
`, ".", "flags", "adapters/remote", "adapters/ofprovider")
	s.wantDecided(t)

	bin := t.TempDir()
	readme := docPages(t)["README.md"]
	line := "install " + module + "/cmd/bunting@" + published
	if !strings.Contains(readme, "`go "+line+"`") {
		t.Errorf("README.md does not have go %s", line)
	}
	goCommand(t, s.dir, append(s.env, "GOBIN="+bin), strings.Fields(line)...)
	bunting := func(args ...string) string {
		out, err := exec.Command(filepath.Join(bin, "bunting"), args...).CombinedOutput()
		if err != nil {
			t.Errorf("bunting %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	if out := bunting("version"); !strings.Contains(out, published) {
		t.Errorf("%s, want %s", out, published)
	}
	blocks := fenced(readme, "sh")
	shell := newStage(t)
	shell.clone()
	shell.tool("bunting", "exec "+filepath.Join(bin, "bunting")+` "$@"`)
	var answer string
	for _, line := range commandsOf(strings.Join(blocks[len(blocks)-2:], "")) { // flags from a file
		answer = shell.run(line)
	}
	if want := `"` + decided + `":{"key":"` + decided + `","enabled":true`; !strings.Contains(answer, want) {
		t.Errorf("%s, want %s", answer, want)
	}
}

// write makes the service a module with one program and the requirements that its imports have.
func (s service) write(t *testing.T, program string, modules ...string) {
	t.Helper()
	write(t, filepath.Join(s.dir, "go.mod"), "module example.org/service\n\ngo 1.26.0\n")
	write(t, filepath.Join(s.dir, "main.go"), program)
	for i, dir := range modules {
		modules[i] = strings.TrimSuffix(module+"/"+dir, "/.") + "@" + published
	}
	goCommand(t, s.dir, s.env, append([]string{"get"}, modules...)...)
	goCommand(t, s.dir, s.env, "mod", "tidy")
}

// wantDecided builds and runs the service, which must decide the flag for two users.
func (s service) wantDecided(t *testing.T) {
	t.Helper()
	program := filepath.Join(s.dir, "service")
	goCommand(t, s.dir, s.env, "build", "-o", program)
	definitions, err := filepath.Abs(demo)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, definitions, t.TempDir(), "ana@example.com", "ana@example.org")
	cmd.Dir = s.dir
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "true\nfalse\n" {
		t.Errorf("%s %v, want true and false", out, err)
	}
}
