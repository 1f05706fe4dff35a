package command

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// A server has its documentation without a key: for people, and for programs as llmstxt.org describes.
// Without it, there are no such paths.
func TestServe_Docs(t *testing.T) {
	for _, c := range []struct {
		args []string
		want map[string]int
	}{
		{nil, map[string]int{"/docs/": 200, "/docs/llms.txt": 200, "/docs/README.md": 200, "/docs/..%2fREADME.md": 404, "/docs/nothing": 404}},
		{[]string{"--docs=false"}, map[string]int{"/docs": 404, "/docs/": 404, "/docs/llms.txt": 404}},
	} {
		s := serve(t, time.Minute, c.args...)
		for path, want := range c.want {
			status, body := s.get(path, "")
			if status != want || want == 200 && !strings.Contains(body, "Bunting") {
				t.Errorf("%q: %s: %d, want %d; %.200s", c.args, path, status, want, body)
			}
		}
		if len(c.args) == 0 {
			res, err := httpClient.Get(s.url + "/docs") // follows the redirection
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != http.StatusOK || res.Request.URL.Path != "/docs/" {
				t.Errorf("/docs: %d at %s", res.StatusCode, res.Request.URL)
			}
		}
		s.stop()
		s.wait(0)
	}
}
