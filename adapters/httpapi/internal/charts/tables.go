package charts

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
)

func word(s string) Cell   { return Cell{Text: s} }
func number(s string) Cell { return Cell{Text: s, Number: true} }

// numberOf is a number of a format, a dash where there is none.
func numberOf(v value, f *format) Cell {
	if !v.ok {
		return number("–")
	}
	return number(f.number(v.v))
}

// totalTable has a row for each series that is one number.
func (d *drawing) totalTable(all []series) {
	t := Table{Caption: "Numbers", Head: []string{"Series", "Number"}, Plain: d.Picture == ""}
	for i := range all {
		t.Rows = append(t.Rows, []Cell{word(all[i].name(maxCell)), numberOf(all[i].Aggregated, &d.query.Trends)})
	}
	d.table(t)
}

// seriesTable has a column for each series, or a row where there are many.
func (d *drawing) seriesTable(all []series, f *format) {
	t := Table{Caption: "Numbers", Plain: d.Picture == ""}
	if len(all) > maxColumns {
		t.Head = []string{"Series", "Total"}
		for i := range all {
			t.Rows = append(t.Rows, []Cell{word(all[i].name(maxCell)), numberOf(all[i].Count, f)})
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
		cells := []Cell{word(name)}
		for i := range all {
			if row < len(all[i].Data) {
				cells = append(cells, numberOf(all[i].Data[row], f))
			} else {
				cells = append(cells, word(""))
			}
		}
		t.Rows = append(t.Rows, cells)
	}
	d.table(t)
}

// rows are those of a list or of SQL.
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

// named are the members by which something larger is known in a cell.
type named struct {
	Display text `json:"display_name"`
	Event   text `json:"event"`
	ID      text `json:"distinct_id"`
}

// cellOf is a value of a row: of a person its name, of an event what it is called.
func cellOf(raw json.RawMessage) Cell {
	raw = bytes.TrimSpace(raw)
	var v value
	if _ = v.UnmarshalJSON(raw); v.ok {
		return number(show(v.v))
	}
	if len(raw) > 0 && raw[0] == '{' {
		var n named
		_ = json.Unmarshal(raw, &n)
		if name := cmp.Or(n.Display, n.Event, n.ID); name != "" {
			return word(clean(string(name), maxCell))
		}
		return word(clean(string(raw), maxCell))
	}
	var t text
	_ = t.UnmarshalJSON(raw)
	return word(clean(string(t), maxCell))
}
