package browsertest

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	screen "github.com/chromedp/cdproto/page"
)

// Pages with the data of the demo. make pictures stores their screenshots in CONSOLE_KEEP: six for the
// page of the console, and one for the first page of the repository.
func TestPictures(t *testing.T) {
	s := serve(t)
	demo := exec.Command(program, "demo", "--yes", "--server", s.url, "--key", s.key)
	if out, err := demo.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var flags struct {
		Results []struct {
			ID  int
			Key string
		}
	}
	s.api("GET", "/api/projects/1/feature_flags/", nil, &flags)
	var people struct {
		Results []struct {
			IDs []string `json:"distinct_ids"`
		}
	}
	s.api("GET", "/api/projects/1/persons/?limit=1", nil, &people)
	p := s.open(t, "p/1")
	for _, shot := range []struct {
		name, path string
		shown      []string
	}{
		{"console.png", "p/1/flags", []string{"link", "demo-new-search"}},
		{"flags.webp", "p/1/flags", []string{"link", "demo-new-search"}},
		{"flag.webp", "p/1/flags/{demo-shop-layout}", []string{"group", "Condition 1"}},
		{"exposures.webp", "p/1/flags/{demo-shop-layout}/exposures", []string{"image", "Chart: Exposures by value"}},
		{"why.webp", "p/1/why?flag=demo-new-search&person=" + url.QueryEscape(people.Results[0].IDs[0]), []string{"heading", "Why?"}},
		{"dashboard.webp", "p/1/dashboards/1", []string{"button", "Share"}},
		{"health.webp", "organization/health", []string{"table", "Checks"}},
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
	ids := map[string]int{}
	for _, f := range flags.Results {
		ids[f.Key] = f.ID
	}
	p.demoPages(t, url.QueryEscape(people.Results[0].IDs[0]), ids)
}

// writePicture writes a screenshot of the visible part, in the format that the name ends with.
func (p *page) writePicture(name string) {
	p.t.Helper()
	params := screen.CaptureScreenshotParams{Format: screen.CaptureScreenshotFormatPng}
	if filepath.Ext(name) == ".webp" {
		quality := int64(80)
		params = screen.CaptureScreenshotParams{Format: screen.CaptureScreenshotFormatWebp, Quality: &quality}
	}
	got := call(p, screen.CaptureScreenshot, params)
	if len(got.Data) == 0 || len(got.Data) > maxPicture {
		p.t.Errorf("%s has %d bytes, want at most %d", name, len(got.Data), maxPicture)
	}
	dir := os.Getenv("CONSOLE_KEEP")
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name), got.Data, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// maxPicture is the maximum size of a picture in bytes.
const maxPicture = 150_000
