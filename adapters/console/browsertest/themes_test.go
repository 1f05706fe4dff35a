package browsertest

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
)

// looks are the combinations of theme and width that accessible does not check: a phone, and forced
// colours, in which the browser replaces the colours of the page.
var looks = []struct {
	name, theme, forced string
	width               int64
	isLong              bool // only with -long
}{
	{name: "light on a phone", theme: "light", forced: "none", width: 360},
	{name: "dark on a phone", theme: "dark", forced: "none", width: 360},
	{name: "forced colours, light", theme: "light", forced: "active", width: 1280},
	{name: "forced colours, dark, on a phone", theme: "dark", forced: "active", width: 360},
	{name: "forced colours, dark", theme: "dark", forced: "active", width: 1280, isLong: true},
	{name: "forced colours, light, on a phone", theme: "light", forced: "active", width: 360, isLong: true},
}

// T17 (console.md §7): axe finds no problems on a phone and in forced colours either, in both themes: on three
// pages with a list, a form and charts, and with -long on every page.
func TestEveryRoute_ThemesAndWidths(t *testing.T) {
	s := serve(t)
	paths := s.everyRoute()
	if !*long {
		paths = []string{"p/1/flags", "p/1/flags/1", "p/1/dashboards/1"}
	}
	p := s.open(t, "account")
	for _, path := range paths {
		p.visit(path)
		p.waitLoaded()
		p.loadAxe()
		for _, look := range looks {
			if look.isLong && !*long {
				continue
			}
			call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: look.theme}, {Name: "forced-colors", Value: look.forced},
			}})
			p.size(look.width, 800)
			p.checkTheme(look.name)
		}
		p.size(1280, 800)
	}
}
