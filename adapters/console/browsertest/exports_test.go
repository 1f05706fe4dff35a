package browsertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// J14 (console.md §1.2, §3.9): a destination is tested step by step, an export is created, a past
// interval is exported and its log read; it is repeated, paused and changed. The file in the folder
// proves the effect: one of the two events is of that day.
func TestExports(t *testing.T) {
	s := serve(t)
	for id, timestamp := range map[string]string{"ana": "2026-01-02T09:30:00Z", "ben": "2026-01-03T09:30:00Z"} {
		s.capture(map[string]any{"event": "order placed", "distinct_id": id, "timestamp": timestamp})
	}
	p := s.open(t, "p/1/exports")
	p.node("heading", "No exports yet")
	p.accessible()
	p.click("button", "New export")
	p.node("heading", "New export")
	p.choose("Day", "combobox", "Every")
	p.expect("400 POST /api/projects/1/batch_exports/run_test_step_new/")
	p.fill("../out", "textbox", "Folder")
	p.click("button", "Test destination")
	eventually(t, "a step that fails", func() bool {
		return strings.HasPrefix(js[string](p, "document.querySelector('[aria-label=\"Test steps\"] li')?.innerText ?? ''"), "Check address: failed: ")
	})
	if text := js[string](p, "document.querySelector('[aria-label=\"Test steps\"] li [lang=en]:last-child')?.innerText ?? ''"); text == "" {
		t.Error("the reason of the server is not marked as English")
	}
	p.fill("orders", "textbox", "Folder")
	p.click("button", "Test destination")
	eventually(t, "four steps that pass", func() bool {
		return js[int](p, "[...document.querySelectorAll('[aria-label=\"Test steps\"] li')].filter(x => x.innerText.endsWith(': passed')).length") == 4
	})
	p.accessible()
	p.click("button", "Save")
	eventually(t, "a fault of the name", func() bool { return js[bool](p, "!!document.querySelector('[aria-invalid=true]')") })
	p.fill("Orders", "textbox", "Name")
	p.click("button", "Save")
	p.waitAnnounced("Saved")
	p.node("heading", "Orders")
	p.node("heading", "No runs in the last seven days")
	exportRuns(s, p)
	changeExport(s, p)
}

// exportRuns exports a day, reads the log, and repeats the export.
func exportRuns(s *server, p *page) {
	t := s.t
	t.Helper()
	p.click("button", "New backfill")
	p.fill("2026-01-02 09:00", "dialog", "New backfill", "textbox", "From")
	p.fill("2026-01-03", "dialog", "New backfill", "textbox", "To")
	p.click("dialog", "New backfill", "button", "Start")
	eventually(t, "a fault of the day", func() bool { return js[bool](p, "!!document.querySelector('dialog [aria-invalid=true]')") })
	p.accessible()
	p.fill("2026-01-02", "dialog", "New backfill", "textbox", "From")
	p.click("dialog", "New backfill", "button", "Start")
	p.waitAnnounced("Backfill started")
	for _, head := range []string{"Span", "State", "Rows", "Bytes", "Finished"} {
		p.node("table", "Runs", "columnheader", head)
	}
	p.node("table", "Runs", "cell", "Done")
	p.node("table", "Runs", "cell", "1")
	p.accessible()
	var written []string
	err := filepath.WalkDir(filepath.Join(s.data, "exports", "orders"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, _ := os.ReadFile(path)
			written = append(written, string(text))
		}
		return err
	})
	if all := strings.Join(written, ""); err != nil || !strings.Contains(all, `"ana"`) || strings.Contains(all, `"ben"`) {
		t.Errorf("the folder has %q (%v), want the event of ana alone", written, err)
	}
	const span = "2 Jan 2026, 00:00 to 3 Jan 2026, 00:00"
	p.click("button", "Log of "+span)
	p.node("dialog", "Log of "+span, "list", "Log")
	p.accessible()
	p.click("dialog", "Log of "+span, "button", "Close")
	p.click("button", "Run again")
	p.waitAnnounced("Runs again")
	eventually(t, "two runs that are done", func() bool { return len(p.all(p.node("table", "Runs"), "cell", "Done")) == 2 })
	p.click("navigation", "Export", "link", "Backfills")
	p.node("table", "Backfills", "columnheader", "Runs done")
	p.accessible()
}

// changeExport pauses, changes and deletes an export.
func changeExport(s *server, p *page) {
	t := s.t
	t.Helper()
	p.click("button", "Pause")
	p.waitAnnounced("Paused Orders")
	p.click("navigation", "Export", "link", "Settings")
	p.choose("Parquet", "combobox", "Format")
	p.choose("zstd", "combobox", "Compression")
	p.accessible()
	p.click("button", "Save")
	p.waitAnnounced("Saved")
	var got struct {
		Results []struct {
			Paused      bool
			Destination struct{ Config map[string]any }
		}
	}
	s.api("GET", "/api/projects/1/batch_exports/", nil, &got)
	if c := got.Results[0].Destination.Config; c["path"] != "orders" || c["file_format"] != "Parquet" || c["compression"] != "zstd" || !got.Results[0].Paused {
		t.Errorf("the export is %+v, want it paused, Parquet by zstd, and its folder as it was", got.Results[0])
	}
	p.click("button", "Resume")
	p.node("button", "Pause")
	p.click("link", "Exports")
	eventually(t, "the export runs", func() bool { // its last run may be running too
		return js[bool](p, "document.querySelector('table[aria-label=Exports] tbody tr')?.cells[4].innerText === 'Running'")
	})
	p.accessible()
	p.click("table", "Exports", "link", "Orders")
	p.click("navigation", "Export", "link", "Settings")
	p.click("button", "Delete export")
	p.click("alertdialog", "Delete Orders?", "button", "Delete")
	p.waitAnnounced("Deleted Orders")
	p.node("heading", "No exports yet")
}
