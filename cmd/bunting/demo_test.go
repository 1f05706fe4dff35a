package main

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/cmd/bunting/internal/cli"
)

var (
	demoCount = regexp.MustCompile(`(\d+) made-up events of (\d+) made-up people`)
	demoLink  = regexp.MustCompile(`http://\S+/shared/\S+`)
)

// The demo fills a dashboard, which the printed link opens. A second run duplicates no object, and
// for a project that has events of its own the command requires a confirmation.
func TestDemo_FillsAProjectOnce(t *testing.T) {
	s := serve(t, time.Minute)
	env := []string{"BUNTING_SERVER=" + s.url, "BUNTING_KEY=" + printedKey.FindString(s.stdout.String())}
	first := call(t, "", env, "demo")
	first.Want(t, cli.ExitOK, "with 6 insights", "made-up events of the last 30 days into project 1")
	second := call(t, "", env, "demo")
	count := demoCount.FindStringSubmatch(second.Stdout)
	if count == nil || demoLink.FindString(first.Stdout) == "" || demoLink.FindString(first.Stdout) != demoLink.FindString(second.Stdout) {
		t.Fatalf("%s\nand then\n%s", first.Stdout, second.Stdout)
	}
	const counted = "SELECT count(), uniq(uuid), uniq(distinct_id), countIf(properties.made_up = true) FROM events"
	for _, format := range [][]string{{"--csv"}, nil} {
		args := append(append([]string{"query"}, format...), "SELECT uuid FROM events")
		call(t, "", env, args...).Want(t, cli.ExitOK, "uuid", "the result has more rows than these: add a LIMIT")
	}
	if got, want := call(t, "", env, "query", "--csv", counted).Stdout, count[1]+","+count[1]+","+count[2]+","+count[1]+"\n"; !strings.HasSuffix(got, want) {
		t.Errorf("there are\n%swant\n%s", got, want)
	}
	for path, n := range map[string]int{"/api/projects/1/dashboards/": 1, "/api/projects/1/insights/": 6} {
		r, _ := http.NewRequest("GET", s.url+path, nil)
		r.Header.Set("Authorization", "Bearer "+printedKey.FindString(s.stdout.String()))
		if _, list := do(t, r); strings.Count(string(list), `"tags":["made-up"]`) != n {
			t.Errorf("%s has not %d: %s", path, n, list)
		}
	}
	r, err := http.NewRequest("GET", demoLink.FindString(second.Stdout), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	_, page := do(t, r)
	for _, want := range []string{"Everything here is made up", `<polyline class="line c0"`, `fill="url(#t1-p1)"`, `class="big"`, "2. signed up", "% of the first", `class="n h10">100%`, "Chrome"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page has no %s:\n%s", want, page)
		}
	}
	if strings.Contains(string(page), `role="status"`) {
		t.Errorf("a tile is not filled:\n%s", page)
	}

	token := call(t, "", env, "projects", "list").Stdout
	token = token[strings.Index(token, "phc_"):]
	r, err = http.NewRequest("POST", s.url+"/batch/", strings.NewReader(`{"api_key":"`+token[:strings.IndexAny(token, " \n")]+`","batch":[{"event":"real","properties":{"distinct_id":"ann"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	do(t, r)
	call(t, "", env, "demo").Want(t, cli.ExitUsage, "", "Mix made-up events with the existing 1 event in project 1 (Default project)? There is no terminal to confirm this: add --yes")
	call(t, "", env, "demo", "--yes", "--json").Want(t, cli.ExitOK, `"insights": 6`, "in project 1")
}
