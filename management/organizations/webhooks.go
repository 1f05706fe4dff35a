package organizations

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/notices"
)

const (
	// webhookLife is the time for which a webhook is tried again, and webhookTime the limit of one
	// attempt.
	webhookLife = 24 * time.Hour
	webhookTime = 10 * time.Second
	// maxWebhooks limits the webhooks of an organization that wait.
	maxWebhooks = 1000
)

// webhook is a queued request (experiments.md §4.11).
type webhook struct {
	Project int64           `json:"project"`
	URL     string          `json:"url"`
	Secret  string          `json:"secret"`
	Body    json.RawMessage `json:"body"`
}

// QueueWebhook queues a webhook in a transaction of another package; it is sent if that commits.
// queued is false if the project does not exist, or if too many webhooks of its organization wait.
func (s Service) QueueWebhook(tx management.Tx, w notices.Webhook) (queued bool, err error) {
	p, err := tx.Project(w.Project)
	if err != nil || p == nil {
		return false, err
	}
	_, waiting, err := tx.List(management.Query{Kind: kindWebhook, Other: p.Organization, Limit: 1})
	if err != nil || waiting >= maxWebhooks {
		return false, err
	}
	now := s.Env.Now()
	m := &waitingMail{ID: w.ID, Webhook: &webhook{p.ID, w.URL, w.Secret, w.Body}, Organization: p.Organization, Created: management.NewStamp(now)}
	return true, m.put(tx, now)
}

// dueTime returns the time when a record of the outbox is due.
func dueTime(r *management.Record) (time.Time, error) {
	micros, err := strconv.ParseInt(r.Sort, 10, 64)
	return time.UnixMicro(micros).UTC(), err
}

// isCurrent reports whether a webhook is still sent: its project exists, and it is not too old.
func (s *core) isCurrent(tx Tx, m *waitingMail) (bool, error) {
	if s.Env.Now().Sub(m.Created.Time) >= webhookLife {
		return false, nil
	}
	p, err := tx.Project(m.Webhook.Project)
	return p != nil, err
}

// post makes one attempt to send a webhook.
func (s *core) post(ctx context.Context, m *waitingMail) error {
	attempt, cancel := context.WithTimeout(ctx, webhookTime)
	defer cancel()
	return s.Poster.Post(attempt, m.Webhook.URL, map[string]string{
		"X-Bunting-Delivery": m.ID, "X-Bunting-Signature": signature(m.Webhook.Secret, s.Env.Now(), m.Webhook.Body),
	}, m.Webhook.Body)
}

// signature returns the signature of a body at a time: t=SECONDS,v1=HEX, where HEX is the
// HMAC-SHA-256 of the seconds, a dot, and the body. The receiver checks it, and rejects old times.
func signature(secret string, now time.Time, body []byte) string {
	at := strconv.FormatInt(now.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write(append([]byte(at+"."), body...)) // never fails
	return fmt.Sprintf("t=%s,v1=%s", at, hex.EncodeToString(mac.Sum(nil)))
}

// reportDropped reports the webhooks among mails that will not be sent any more.
func (s *core) reportDropped(list []*waitingMail) {
	for _, m := range list {
		if m.Webhook == nil {
			continue
		}
		done := &management.JobDone{
			Job: management.JobWebhook, Project: m.Webhook.Project, ID: m.ID,
			Failure: fmt.Sprintf("given up after %d attempts: it was not accepted within %s, or its project was deleted", m.Attempts, webhookLife),
		}
		done.ReportTo(s.JobDone)
	}
}
