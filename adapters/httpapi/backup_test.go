package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// ownAll gives the owner the same role in every organization, which copying the database requires.
func (o *office) ownAll(t testing.TB) {
	t.Helper()
	joined := management.Membership{
		ID: fmt.Sprintf(officeMembers, 99), Organization: officeOther, User: fmt.Sprintf(officeUserID, 0), Level: management.Owner,
		Joined: management.NewStamp(officeStart), Updated: management.NewStamp(officeStart),
	}
	data, _ := json.Marshal(joined)
	err := o.store.Management().Write(context.Background(), func(tx rooms.Tx) error {
		return tx.Put(&management.Record{Kind: "member", Parent: officeOther, ID: joined.User, Other: joined.User, Sort: "1", Data: data})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Only one backup is sent at a time. If it fails midway, the connection is closed, so that a client
// does not treat a part as complete.
func TestBackup_OneAtATime(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	o.ownAll(t)
	under, goOn := make(chan struct{}), make(chan error)
	web := o.serve(t, func(c *httpapi.Config) {
		c.Backup = func(context.Context) (*httpapi.Backup, error) {
			return &httpapi.Backup{Name: "b.db", Size: 10, Close: func() error { return nil }, Copy: func(_ context.Context, w io.Writer) error {
				_, _ = w.Write([]byte("12345"))
				under <- struct{}{}
				err := <-goOn
				if err == nil {
					_, err = w.Write([]byte("67890"))
				}
				return err
			}}, nil
		}
	})
	ask := func(url string) (status int, body string, err error) {
		client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
		r, _ := http.NewRequest(http.MethodPost, url+"/api/instance/backup/", nil)
		r.Header.Set("Authorization", "Bearer "+o.key(t, "owner"))
		answer, err := client.Do(r)
		if err != nil {
			return 0, "", err
		}
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text), err
	}
	if status, body, err := ask(o.URL); status != http.StatusConflict || err != nil { // the office's own database has no file
		t.Errorf("without a file: %d %s %v", status, body, err)
	}
	first := make(chan error, 1)
	go func() { _, _, err := ask(web.URL); first <- err }()
	<-under
	if status, body, _ := ask(web.URL); status != http.StatusServiceUnavailable {
		t.Errorf("a second one: %d %s, want 503", status, body)
	}
	goOn <- errors.New("the disk is gone")
	if err := <-first; err == nil {
		t.Error("a backup that failed looks like a whole one")
	}
	go func() { <-under; goOn <- nil }()
	if status, body, err := ask(web.URL); status != http.StatusOK || body != "1234567890" || err != nil {
		t.Errorf("the next one: %d %q %v", status, body, err)
	}
}
