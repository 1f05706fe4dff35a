package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"
)

// exportPatience is the time limit for the export of all events.
const exportPatience = 30 * time.Minute

// export writes all events to a file with a batch export, and then reads the same chunks
// without any other work for comparison.
func (b *bench) export(p *process, data string) error {
	c, err := dial(p.address)
	if err != nil {
		return err
	}
	defer c.net.Close()
	const path = "/api/projects/1/batch_exports/"
	var made struct{ ID string }
	if err := call(c, postAs(path, `{"name":"all","interval":"day","destination":{"type":"Files","config":{"path":"all"}}}`), &made); err != nil {
		return err
	}
	if err := call(c, postAs(path+made.ID+"/backfills/", `{"start_at":null,"end_at":null}`), nil); err != nil {
		return err
	}
	type run struct {
		Status   string
		Rows     int       `json:"records_completed"`
		Bytes    int64     `json:"bytes_exported"`
		Created  time.Time `json:"created_at"`
		Finished time.Time `json:"finished_at"`
		Error    *string   `json:"latest_error"`
	}
	var done run
	for deadline := time.Now().Add(exportPatience); done.Status != "Completed"; time.Sleep(time.Second) {
		var list struct{ Results []run }
		if err := call(c, get(path+made.ID+"/runs/"), &list); err != nil {
			return err
		}
		if len(list.Results) > 0 {
			done = list.Results[0]
		}
		if done.Status == "Failed" || time.Now().After(deadline) {
			return fmt.Errorf("the export is %q: %v", done.Status, done.Error)
		}
	}
	rate := float64(done.Rows) / done.Finished.Sub(done.Created).Seconds()
	if err := b.compareExport(filepath.Join(data, databaseFile), done.Rows, rate); err != nil {
		return err
	}
	_, most, err := p.memory()
	if err != nil {
		return err
	}
	b.table.figure("resident at most, with the export", megabytes(most))
	b.table.judge("≤ 256 MB", most <= mostResident)
	return nil
}

// compareExport adds the rate of an export of all events to the table, and compares it with only reading the chunks
// of a database without segments.
func (b *bench) compareExport(database string, exported int, rate float64) error {
	what := fmt.Sprintf("%d events exported as JSON lines", exported)
	if b.config.sealed {
		d, err := readDisk(database, "")
		if err == nil && d.sealed+d.waiting != exported {
			err = fmt.Errorf("%d rows exported, %d are stored", exported, d.sealed+d.waiting)
		}
		b.table.figure(what, perSecond(rate))
		return err
	}
	rows, took, err := readChunks(database)
	if err == nil && rows != exported {
		err = fmt.Errorf("%d rows exported, %d read", exported, rows)
	}
	b.table.compare(what+", other: only read as stored", rate, float64(rows)/took.Seconds(), perSecond)
	return err
}

// readChunks reads what an export reads of the events, as it is stored, and returns their number.
func readChunks(file string) (rows int, took time.Duration, err error) {
	db, err := sql.Open("sqlite", "file:"+file+"?mode=ro")
	if err != nil {
		return 0, 0, err
	}
	defer db.Close()
	began := time.Now()
	_, err = countRead(db, `SELECT short, data FROM event_chunks WHERE project_id = 1 ORDER BY first_id`)
	took = time.Since(began)
	if err == nil {
		err = db.QueryRow(`SELECT SUM(events) FROM event_chunks WHERE project_id = 1`).Scan(&rows)
	}
	return rows, took, err
}

// countRead reads all values of a query and returns the number of rows.
func countRead(db *sql.DB, query string) (rows int, err error) {
	found, err := db.Query(query)
	if err != nil {
		return 0, err
	}
	defer found.Close()
	names, err := found.Columns()
	if err != nil {
		return 0, err
	}
	values := make([]sql.RawBytes, len(names))
	to := make([]any, len(values))
	for i := range values {
		to[i] = &values[i]
	}
	for found.Next() {
		if err := found.Scan(to...); err != nil {
			return 0, err
		}
		rows++
	}
	return rows, found.Err()
}

// postAs returns a POST request with JSON and the personal key.
func postAs(path, body string) request {
	return request{raw: fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		path, personalKey, len(body), body)}
}

// call sends a request and decodes its response; into may be nil.
func call(c *conn, r request, into any) error {
	status, body, err := c.do(r.raw, nil)
	if err != nil {
		return err
	}
	if status/100 != 2 {
		return fmt.Errorf("status %d: %.300s", status, body)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(body, into)
}
