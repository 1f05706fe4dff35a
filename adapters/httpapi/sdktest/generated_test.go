//go:build sdk

package sdktest

import (
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// describedIn writes the description of a version to a file.
func describedIn(t *testing.T, url, version, path string) {
	t.Helper()
	res, err := http.Get(url + "/api/schema/?version=" + version)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res.StatusCode, err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// runProgram returns the output of a program of the module.
func runProgram(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%.4000s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Redocly's linter, which checks the keywords of each version and their positions, reports no
// errors in the descriptions.
func TestOpenAPI_Valid(t *testing.T) {
	if err := installed(); err != nil {
		t.Fatal(err)
	}
	s, dir := managedServer(t), t.TempDir()
	args := []string{"openapi.mjs"}
	for _, version := range []string{"3.1", "3.0"} {
		path := filepath.Join(dir, version+".json")
		describedIn(t, s.URL, version, path)
		args = append(args, path)
	}
	runProgram(t, "node", args...)
}

// clientOutput is the output of the programs of apiclient, with the key of the flag that they
// create.
const clientOutput = "flags 1 KEY true\nerror not_found\nenabled true\nvalue true static\ncaptured 1\n"

// operations are the operations that the program in apiclient uses.
const operations = "post_api_projects_project_feature_flags,get_api_projects_project_feature_flags,get_api_projects_project_feature_flags_id," +
	"post_flags,post_ofrep_v1_evaluate_flags_key,post_batch"

// oapi-codegen generates a client from the whole description in OpenAPI 3.0, which has no errors of
// types. A program sends requests to a server with the client of a few operations: the client of
// all takes the compiler half a minute (spec/clients.md §15).
func TestGenerated_Go(t *testing.T) {
	s, dir := managedServer(t), t.TempDir()
	document, overlay := filepath.Join(dir, "openapi.json"), filepath.Join(dir, "overlay.json")
	all, code := filepath.Join(dir, "all.go"), filepath.Join(dir, "client.go")
	describedIn(t, s.URL, "3.0", document)
	// go tool would ignore GOFLAGS, and so compile the standard library again.
	oapiCodegen := filepath.Join(dir, "oapi-codegen")
	runProgram(t, "go", "build", "-o", oapiCodegen, "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen")
	runProgram(t, oapiCodegen, "-generate", "types,client,skip-prune", "-package", "api", "-o", all, document)
	if err := typeCheck(t, all); err != nil {
		t.Error(err)
	}
	runProgram(t, oapiCodegen, "-generate", "types,client", "-include-operation-ids", operations, "-package", "api", "-o", code, document)
	path, err := filepath.Abs("apiclient/api/client.go")
	if err != nil {
		t.Fatal(err)
	}
	// Only the compiler sees the client at this path.
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{path: code}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, text, 0o644); err != nil {
		t.Fatal(err)
	}
	got := runProgram(t, "go", "run", "-tags", "generated", "-overlay", overlay, "./apiclient", s.URL, managedKey)
	if want := strings.Replace(clientOutput, "KEY", "go", 1); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

// typeCheck checks the types of a generated client, like the compiler.
func typeCheck(t *testing.T, file string) error {
	t.Helper()
	exports := map[string]string{} // files of export data by import path
	for line := range strings.Lines(runProgram(t, "go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./apiclient/api")) {
		path, export, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = export
	}
	files := token.NewFileSet()
	syntax, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	config := types.Config{Importer: importer.ForCompiler(files, "gc", open)}
	_, err = config.Check("api", files, []*ast.File{syntax}, nil)
	return err
}

// openapi-typescript generates types from the description in OpenAPI 3.1; a program with them
// passes the compiler in its strictest mode and sends requests to a server.
func TestGenerated_TypeScript(t *testing.T) {
	if err := installed(); err != nil {
		t.Fatal(err)
	}
	s, dir := managedServer(t), t.TempDir()
	modules, err := filepath.Abs("node_modules")
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.Symlink(modules, in("node_modules")); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("apiclient/use.ts")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"use.ts": string(program), "package.json": `{"type": "module"}`} {
		if err := os.WriteFile(in(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	describedIn(t, s.URL, "3.1", in("openapi.json"))
	runProgram(t, "node", "node_modules/openapi-typescript/bin/cli.js", in("openapi.json"), "-o", in("api.d.ts"))
	runProgram(t, "node", "node_modules/typescript/bin/tsc", "--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes", "--target", "es2022",
		"--module", "nodenext", "--lib", "es2023,dom,dom.iterable", "--outDir", dir, in("use.ts"))
	got := runProgram(t, "node", in("use.js"), s.URL, managedKey)
	if want := strings.Replace(clientOutput, "KEY", "ts", 1); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}
