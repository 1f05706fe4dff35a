package browsertest

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// console.md §3.3, management.md §5.1.3: a flag is copied to another project from the list and from its
// page. The dialog warns if the project has a flag with that key, which is overwritten.
func TestFlags_CopyToProject(t *testing.T) {
	s := serve(t)
	s.banner()
	p := s.open(t, "p/1/flags")
	p.click("button", "More about banner")
	if got := js[string](p, "[...document.querySelectorAll('[role=menuitem]')].find(i => i.innerText === 'Copy to project').title"); got != "The organization has no other project that you can open." {
		t.Errorf("without another project, the menu says %q", got)
	}
	s.api("POST", "/api/projects/", map[string]any{"name": "Web"}, nil)
	s.api("POST", "/api/projects/", map[string]any{"name": "App"}, nil)
	p.visit("p/1/flags")
	p.click("button", "More about banner")
	p.click("menuitem", "Copy to project")
	p.node("dialog", "Copy to project", "combobox", "Project")
	p.accessible()
	p.choose("App", "dialog", "Copy to project", "combobox", "Project")
	p.click("dialog", "Copy to project", "button", "Copy")
	p.waitAnnounced("Copied banner to App")
	wantCopy := func(active bool) {
		t.Helper()
		eventually(t, "the copy in App", func() bool {
			var got struct {
				Results []struct {
					Key, Name string
					Active    bool
				}
			}
			s.api("GET", "/api/projects/3/feature_flags/", nil, &got)
			return len(got.Results) == 1 && got.Results[0].Key == "banner" && got.Results[0].Name == "Banner" && got.Results[0].Active == active
		})
	}
	wantCopy(true)

	p.click("link", "banner")
	p.click("button", "More about banner")
	p.click("menuitem", "Copy to project")
	p.choose("App", "dialog", "Copy to project", "combobox", "Project")
	p.waitAnnounced("App already has a flag with this key. The copy replaces its rules.")
	p.click("dialog", "Copy to project", "checkbox", "Switch the copy off")
	p.click("dialog", "Copy to project", "button", "Copy")
	wantCopy(false)
	p.waitRemoved("dialog", "Copy to project")
	js[any](p, "[...document.querySelectorAll('.notes button')].at(-1).click()") // Show, of the second copy
	eventually(t, "the copy", func() bool { return js[bool](p, "location.pathname.includes('/p/3/flags/')") })
	p.node("heading", "banner")
	p.accessible()
}

const filedFlags = `{"organization": {"id": "0191f0a2-5b1c-7d3e-8f40-0000000000fe", "name": "From a file"}, "projects": [{"id": 9, "name": "filed", "api_key": "phc_filed",
	"flags": [{"id": 1, "key": "filed-flag", "active": true, "filters": {"groups": [{"properties": [], "rollout_percentage": 50}]}}]}]}`

// console.md §2.1, §3.4, T26: the list and the page of a flag of a definitions file name the file. What
// changes the flag is disabled, with that reason.
func TestFlags_OfDefinitionsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shop-flags.json")
	if err := os.WriteFile(file, []byte(filedFlags), 0o600); err != nil {
		t.Fatal(err)
	}
	s := (&server{t: t, data: t.TempDir(), publicKey: "phc_filed"}).start("--definitions", file)
	p := s.open(t, "p/9/flags")
	p.node("link", "filed-flag")
	var got struct {
		Results []struct {
			ID   int
			File string `json:"definitions_file"`
		}
	}
	s.api("GET", "/api/projects/9/feature_flags/", nil, &got)
	if len(got.Results) != 1 || filepath.Base(got.Results[0].File) != "shop-flags.json" {
		t.Fatalf("the API lists %+v", got.Results)
	}
	named, reason := "File shop-flags.json", "This flag is defined in the file "+got.Results[0].File+" and can only be changed there."
	p.node("table", "Flags", "StaticText", named)
	for _, name := range js[[]string](p, unexplainedControls) {
		t.Errorf("%q is disabled and does not say why", name)
	}
	for _, path := range []string{"p/9/flags", "p/9/flags/1"} {
		p.visit(path)
		p.node("switch", "Enabled: filed-flag")
		p.accessible()
		if got := js[string](p, "(s => s.disabled ? document.getElementById(s.getAttribute('aria-describedby')).textContent : 'enabled')(document.querySelector('[role=switch]'))"); got != reason {
			t.Errorf("%s: the switch is %q, want %q", path, got, reason)
		}
		if !js[bool](p, "document.querySelector('main').innerText.includes("+strconv.Quote(named)+")") {
			t.Errorf("%s does not name the file", path)
		}
	}
	p.visit("p/9/flags/1")
	p.node("note", "Read-only", "StaticText", reason)
	p.click("button", "More about filed-flag")
	const items = "[...document.querySelectorAll('[role=menuitem][aria-disabled=true]')].map(i => i.innerText).join(', ')"
	if got := js[string](p, items); got != "Copy to project, Archive, Delete" {
		t.Errorf("disabled in the menu: %s", got)
	}
}
