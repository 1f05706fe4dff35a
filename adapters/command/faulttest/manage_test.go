//go:build linux

package faulttest

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"
	"time"
)

// waitLeases is the option to wait until the leases of a killed server expire, a minute or two.
var waitLeases = flag.Bool("leases", false, "wait until leases of killed servers run out, instead of ending them in the store")

// ask sends a request to the management API. into may be nil. err is non-nil if there was no
// response, with a status of 0, and if the status is 300 or more.
func (s *server) ask(method, path, key string, body, into any) (status int, err error) {
	var data []byte
	if body != nil {
		if data, err = json.Marshal(body); err != nil {
			return 0, err
		}
	}
	r, err := http.NewRequest(method, s.url+path, bytes.NewReader(data))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	if into != nil && response.StatusCode < 300 {
		err = json.Unmarshal(answer, into)
	} else if response.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: status %d: %.500s", method, path, response.StatusCode, answer)
	}
	return response.StatusCode, err
}

// must is ask for a server that is not killed.
func (s *server) must(t testing.TB, method, path, key string, body, into any) {
	t.Helper()
	if _, err := s.ask(method, path, key, body, into); err != nil {
		t.Fatal(err)
	}
}

// everyPage reads all pages of a list.
func everyPage[T any](t testing.TB, s *server, path, key string) (all []T) {
	t.Helper()
	for path != "" {
		var page struct {
			Next    *string
			Results []T
		}
		s.must(t, http.MethodGet, path, key, nil, &page)
		all = append(all, page.Results...)
		if path = ""; page.Next != nil {
			next, err := url.Parse(*page.Next)
			if err != nil {
				t.Fatal(err)
			}
			path = next.RequestURI()
		}
	}
	return all
}

// openWritable opens the SQLite file of a data folder for writing.
func openWritable(t testing.TB, dir string) *sql.DB {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(dir, "bunting.db"))
	if err != nil {
		t.Fatal(err)
	}
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: "mode=rw&_pragma=busy_timeout(10000)"}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// expireLeases lets leases of a killed server expire now, and sets pending retries to due. It
// returns the number of such exports and mails.
func expireLeases(t testing.TB, dir string) (waited int64) {
	t.Helper()
	if *waitLeases {
		return 0
	}
	db := openWritable(t, dir)
	defer func() { _ = db.Close() }()
	now := time.Now().UTC()
	due := fmt.Sprintf("%020d", now.UnixMicro())
	for _, change := range []struct {
		text string
		args []any
	}{
		{`UPDATE records SET sort = $1, data = json_set(data, '$.until', $2) WHERE kind = 'batch_export_task' AND json_extract(data, '$.owner') IS NOT NULL`,
			[]any{due, now.Format(time.RFC3339Nano)}},
		{`UPDATE records SET sort = $1, data = json_remove(data, '$.not_before') WHERE kind = 'batch_export_task' AND json_extract(data, '$.not_before') IS NOT NULL`,
			[]any{due}},
		{`UPDATE records SET sort = $1 WHERE kind = 'mail' AND sort > $1`, []any{due}},
	} {
		result, err := db.Exec(change.text, change.args...)
		if err != nil {
			t.Fatal(err)
		}
		n, err := result.RowsAffected()
		if err != nil {
			t.Fatal(err)
		}
		waited += n
	}
	return waited
}
