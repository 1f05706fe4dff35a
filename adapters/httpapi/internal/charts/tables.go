package charts

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
)

func textCell(s string) Cell   { return Cell{Text: s} }
func numberCell(s string) Cell { return Cell{Text: s, Number: true} }

// numberOf returns a cell with a formatted number, or a dash if there is no number.
func numberOf(v value, f *format) Cell {
	if !v.ok {
		return numberCell("–")
	}
	return numberCell(f.number(v.v))
}

// totalTable adds a table with a row for each series that has a single number.
func (d *drawing) totalTable(all []series) {
	t := Table{Caption: "Numbers", Head: []string{"Series", "Number"}, Plain: d.Picture == ""}
	for i := range all {
		t.Rows = append(t.Rows, []Cell{textCell(all[i].name(maxCell)), numberOf(all[i].Aggregated, &d.query.Trends)})
	}
	d.table(t)
}

// seriesTable adds a table with a column for each series, or a row for each if there are more
// than maxColumns.
func (d *drawing) seriesTable(all []series, f *format) {
	t := Table{Caption: "Numbers", Plain: d.Picture == ""}
	if len(all) > maxColumns {
		t.Head = []string{"Series", "Total"}
		for i := range all {
			t.Rows = append(t.Rows, []Cell{textCell(all[i].name(maxCell)), numberOf(all[i].Count, f)})
		}
		d.table(t)
		return
	}
	t.Head = []string{""}
	longest := 0
	for i := range all {
		t.Head = append(t.Head, all[i].name(maxCell))
		if len(all[i].Data) > len(all[longest].Data) {
			longest = i
		}
	}
	if len(all) == 0 || len(all[longest].Data) == 0 {
		return
	}
	names := all[longest].Labels
	for row := range all[longest].Data {
		name := strconv.Itoa(row + 1)
		if row < len(names) {
			name = clean(string(names[row]), maxCell)
		}
		cells := []Cell{textCell(name)}
		for i := range all {
			if row < len(all[i].Data) {
				cells = append(cells, numberOf(all[i].Data[row], f))
			} else {
				cells = append(cells, textCell(""))
			}
		}
		t.Rows = append(t.Rows, cells)
	}
	d.table(t)
}

// rows renders the rows of a list or of an SQL query.
func (d *drawing) rows() bool {
	var columns []text
	var results []json.RawMessage
	if !d.read(&results) {
		return false
	}
	_ = json.Unmarshal(d.Columns, &columns)
	t := Table{Caption: "Rows", Plain: true}
	columns = columns[:min(len(columns), 50)]
	for _, c := range columns {
		t.Head = append(t.Head, clean(string(c), maxLabel))
	}
	for _, raw := range results {
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return false
		}
		cells := make([]Cell, min(len(list), max(len(columns), 1)))
		for i := range cells {
			cells[i] = cellOf(list[i])
		}
		t.Rows = append(t.Rows, cells)
	}
	d.table(t)
	if d.More {
		d.note("There are more rows than are shown.")
	}
	return true
}

// displayMembers has the members whose value represents an object in a cell.
type displayMembers struct {
	Display text `json:"display_name"`
	Event   text `json:"event"`
	ID      text `json:"distinct_id"`
}

// cellOf returns the cell of a value. A person is displayed by name, and an event by its event
// name.
func cellOf(raw json.RawMessage) Cell {
	raw = bytes.TrimSpace(raw)
	var v value
	if _ = v.UnmarshalJSON(raw); v.ok {
		return numberCell(show(v.v))
	}
	if len(raw) > 0 && raw[0] == '{' {
		var n displayMembers
		_ = json.Unmarshal(raw, &n)
		if name := cmp.Or(n.Display, n.Event, n.ID); name != "" {
			return textCell(clean(string(name), maxCell))
		}
		return textCell(clean(string(raw), maxCell))
	}
	var t text
	_ = t.UnmarshalJSON(raw)
	return textCell(clean(string(t), maxCell))
}
