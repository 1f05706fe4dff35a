package browsertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	screen "github.com/chromedp/cdproto/page"
)

// Six pages with the demo's month of events, and some additional flags. make pictures stores their
// screenshots in CONSOLE_KEEP.
func TestPictures(t *testing.T) {
	s := serve(t)
	demo := exec.Command(program, "demo", "--yes", "--server", s.url, "--key", s.key)
	if out, err := demo.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	pro := map[string]any{"key": "plan", "type": "person", "operator": "exact", "value": []string{"pro"}}
	s.person("ana", map[string]any{"email": "ana@example.com", "plan": "pro"})
	s.person("ben", map[string]any{"email": "ben@example.com", "plan": "free"})
	flag := func(key, name string, tags []string, filters map[string]any) {
		s.api("POST", "/api/projects/1/feature_flags/", map[string]any{"key": key, "name": name, "tags": tags, "filters": filters, "_should_create_usage_dashboard": false}, nil)
	}
	condition := func(share int, properties ...any) any {
		return map[string]any{"properties": append([]any{}, properties...), "rollout_percentage": share}
	}
	flag("new-checkout", "The checkout in one step", []string{"shop"}, map[string]any{"groups": []any{condition(50, pro), condition(10)}})
	flag("banner", "Banner of the spring sale", []string{"shop", "marketing"}, map[string]any{"groups": []any{condition(100)}})
	flag("search", "Which search answers", []string{"search"}, map[string]any{"groups": []any{condition(100)}, "multivariate": map[string]any{"variants": []any{
		map[string]any{"key": "control", "rollout_percentage": 50}, map[string]any{"key": "semantic", "rollout_percentage": 50}}}})
	for i, id := range []string{"ana", "ben", "cleo", "dan", "eva"} {
		s.api("POST", "/batch/", map[string]any{"api_key": s.publicKey, "batch": []any{map[string]any{
			"event": "$feature_flag_called", "distinct_id": id, "properties": map[string]any{"$feature_flag": "search", "$feature_flag_response": []string{"control", "semantic"}[i%2]}}}}, nil)
	}
	var flags struct {
		Results []struct {
			ID  int
			Key string
		}
	}
	s.api("GET", "/api/projects/1/feature_flags/", nil, &flags)
	p := s.open(t, "p/1")
	for _, shot := range []struct {
		name, path string
		shown      []string
	}{
		{"flags", "p/1/flags", []string{"link", "new-checkout"}},
		{"flag", "p/1/flags/{new-checkout}", []string{"group", "Condition 2"}},
		{"exposures", "p/1/flags/{search}/exposures", []string{"image", "Chart: Exposures by value"}},
		{"why", "p/1/why?person=ana&flag=new-checkout", []string{"heading", "Why?"}},
		{"dashboard", "p/1/dashboards/1", []string{"button", "Share"}},
		{"health", "organization/health", []string{"table", "Checks"}},
	} {
		path := shot.path
		for _, f := range flags.Results {
			path = strings.ReplaceAll(path, "{"+f.Key+"}", strconv.Itoa(f.ID))
		}
		p.visit(path)
		p.node(shot.shown...)
		p.waitLoaded()
		p.writePicture(shot.name)
	}
}

// writePicture writes a screenshot of the visible part.
func (p *page) writePicture(name string) {
	p.t.Helper()
	quality, dir := int64(80), os.Getenv("CONSOLE_KEEP")
	got := call(p, screen.CaptureScreenshot, screen.CaptureScreenshotParams{Format: screen.CaptureScreenshotFormatWebp, Quality: &quality})
	if len(got.Data) == 0 {
		p.t.Fatalf("%s: there is no picture", name)
	}
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name+".webp"), got.Data, 0o644); err != nil {
		p.t.Fatal(err)
	}
}
