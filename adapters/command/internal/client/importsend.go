package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

// Limits of one request. Persons are slower to import than events.
const (
	maxBatchBytes  = 5_000_000 - 1000 // leaves room for the text around the events
	maxBatchEvents = 1000
	maxBatchPeople = 200
)

// importBatch contains the records of the next request, all of one kind.
type importBatch struct {
	kind  importKind
	items []importItem
	bytes int
}

type importItem struct {
	text []byte
	line int
}

func (b *importBatch) canFit(kind importKind, size int) bool {
	maxItems := maxBatchEvents
	if kind == importPerson {
		maxItems = maxBatchPeople
	}
	return len(b.items) == 0 || b.kind == kind && len(b.items) < maxItems && b.bytes+size+1 <= maxBatchBytes
}

func (b *importBatch) add(kind importKind, text []byte, line int) {
	b.kind = kind
	b.items = append(b.items, importItem{text, line})
	b.bytes += len(text) + 1
}

// send sends items in order. Records that the server rejects are counted and reported. An error
// concerns all items.
func (i *importer) send(ctx context.Context, items []importItem) error {
	if len(items) == 0 {
		return nil
	}
	if i.batch.kind == importPerson {
		return i.sendPeople(ctx, items)
	}
	return i.sendEvents(ctx, items)
}

// aboutItems are statuses that may be caused by a single event: the batch is then split in halves
// and resent, down to that event.
var aboutItems = []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}

// sendEvents sends a batch of events, and isolates rejected events by splitting it.
func (i *importer) sendEvents(ctx context.Context, items []importItem) error {
	key, err := json.Marshal(i.projectKey)
	if err != nil {
		return err
	}
	var body bytes.Buffer
	body.WriteString(`{"api_key":`)
	body.Write(key)
	body.WriteString(`,"historical_migration":true,"batch":[`)
	for n, item := range items {
		if n > 0 {
			body.WriteByte(',')
		}
		body.Write(item.text)
	}
	body.WriteString(`]}`)
	// Without the personal key, since events are sent with the public key only.
	events := *i.client
	events.key = ""
	err = events.do(ctx, "POST", "/batch/", body.Bytes(), nil)
	i.client.hasAnswered = events.hasAnswered // if the server stops now, it may be restarting
	var answer *apiError
	switch {
	case err == nil:
		i.state.Sent += int64(len(items))
		return nil
	case !errors.As(err, &answer) || !slices.Contains(aboutItems, answer.Status):
		return err
	case len(items) == 1:
		i.state.Rejected++
		i.reportLine(items[0].line, "was refused: "+answer.Error())
		return nil
	}
	half := len(items) / 2
	if err := i.sendEvents(ctx, items[:half]); err != nil {
		return err
	}
	return i.sendEvents(ctx, items[half:])
}

// findProject finds the project of persons and groups, which must also be that of the events.
func (i *importer) findProject(ctx context.Context) error {
	if i.into != nil {
		return nil
	}
	p, err := i.client.findProject(ctx, cmp.Or(i.project, i.projectKey))
	if err != nil {
		return err
	}
	if i.projectKey != "" && p.Token != "" && p.Token != i.projectKey {
		return cli.BadUsage("import", "--project-key is not the key of project %s: events would go to another project than persons and groups", p)
	}
	i.into = p
	return nil
}

// sendPeople sends persons and groups as lines. The server returns the lines that it rejected.
func (i *importer) sendPeople(ctx context.Context, items []importItem) error {
	var body []byte
	for _, item := range items {
		// A record of a list may contain line breaks, which are white space in JSON.
		body = append(append(body, bytes.ReplaceAll(bytes.ReplaceAll(item.text, []byte("\n"), []byte(" ")), []byte("\r"), []byte(" "))...), '\n')
	}
	var answer struct {
		Imported int64 `json:"imported"`
		Failed   int64 `json:"failed"`
		Errors   []struct {
			Line   int    `json:"line"`
			Detail string `json:"detail"`
		} `json:"errors"`
	}
	if err := i.findProject(ctx); err != nil {
		return err
	}
	if err := i.client.do(ctx, "POST", fmt.Sprintf("/api/projects/%d/import/", i.into.ID), body, &answer); err != nil {
		return err
	}
	i.state.Imported += answer.Imported
	i.state.Rejected += max(answer.Failed, int64(len(answer.Errors)))
	for _, e := range answer.Errors {
		if e.Line >= 1 && e.Line <= len(items) {
			i.reportLine(items[e.Line-1].line, "was refused: "+e.Detail)
		}
	}
	return nil
}
