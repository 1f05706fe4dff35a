package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

const (
	tiles        = 10
	tileReads    = 50
	longestTiles = 50 * time.Millisecond
)

// measureTiles reads a dashboard of ten insights with cached results.
func (b *bench) measureTiles(p *process) error {
	c, err := dial(p.address)
	if err != nil {
		return err
	}
	defer c.net.Close()
	var dashboard struct{ ID int }
	if err := c.createObject("/api/projects/1/dashboards/", `{"name":"ten"}`, &dashboard); err != nil {
		return err
	}
	for i := range tiles {
		var insight struct{ ID int }
		query := questions[i%len(questions)].query
		if err := c.createObject("/api/projects/1/insights/", fmt.Sprintf(`{"name":"tile %d","query":{"kind":"InsightVizNode","source":%s},"dashboards":[%d]}`, i, query, dashboard.ID), &insight); err != nil {
			return err
		}
	}
	path := fmt.Sprintf("/api/projects/1/dashboards/%d/?refresh=", dashboard.ID)
	if _, err := c.tiles(path + "blocking"); err != nil {
		return err
	}
	var took []time.Duration
	for range tileReads {
		began := time.Now()
		n, err := c.tiles(path + "force_cache")
		if err != nil {
			return err
		}
		if took = append(took, time.Since(began)); n != tiles {
			return fmt.Errorf("%d of %d tiles have a result", n, tiles)
		}
	}
	b.table.figure("a dashboard of ten remembered results, median of 50", millis(median(took)))
	b.table.judge("≤ 50 ms", median(took) <= longestTiles)
	return nil
}

// createObject creates an object through the API.
func (c *conn) createObject(path, body string, out any) error {
	status, answer, err := c.do(withKey(post(path, "", []byte(body), 0)).raw, nil)
	if err != nil {
		return err
	}
	if status != 201 {
		return fmt.Errorf("%s: status %d: %.300s", path, status, answer)
	}
	return json.Unmarshal(answer, out)
}

// tiles reads a dashboard, and counts the tiles that have a result.
func (c *conn) tiles(path string) (n int, err error) {
	status, body, err := c.do(get(path).raw, nil)
	if err != nil {
		return 0, err
	}
	var dashboard struct {
		Tiles []struct {
			Insight struct{ Result json.RawMessage }
		}
	}
	if status != 200 {
		return 0, fmt.Errorf("%s: status %d: %.300s", path, status, body)
	}
	if err := json.Unmarshal(body, &dashboard); err != nil {
		return 0, err
	}
	for _, tile := range dashboard.Tiles {
		if len(tile.Insight.Result) > len("null") {
			n++
		}
	}
	return n, nil
}

// withKey adds the personal key to a request.
func withKey(r request) request {
	r.raw = bytes.Replace(r.raw, []byte("\r\n"), []byte("\r\nAuthorization: Bearer "+personalKey+"\r\n"), 1)
	return r
}
