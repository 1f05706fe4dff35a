package organizations

import (
	"time"

	"github.com/bunting-flags/bunting/management"
)

// kindMailCount is how many mails were queued on a UTC day: ID is whose they are.
const kindMailCount = "mail_count"

const (
	// MaxMailsPerDay is how many mails an organization, and how many invitations a user,
	// may have sent on a UTC day.
	MaxMailsPerDay = 500
	// MaxConfirmationsPerDay is how often a user may have an address confirmed.
	MaxConfirmationsPerDay = 20
)

// CodeMailLimit is the code of a mail that would be one too many.
const CodeMailLimit = "mail_limit"

// mailCount is the number of one day.
type mailCount struct {
	Day string `json:"day"`
	N   int    `json:"n"`
}

// mailAccount is on whom mails count.
type mailAccount struct {
	id    string
	limit int
}

func organizationMails(id string) mailAccount {
	return mailAccount{"organization/" + id, MaxMailsPerDay}
}

// noticeMails are apart: who has many alerts can still invite.
func noticeMails(id string) mailAccount { return mailAccount{"notices/" + id, MaxMailsPerDay} }

func inviterMails(uuid string) mailAccount { return mailAccount{"inviter/" + uuid, MaxMailsPerDay} }
func userMails(uuid string) mailAccount    { return mailAccount{"user/" + uuid, MaxConfirmationsPerDay} }

// countMail counts a mail on each account, or refuses it where one has had its mails.
func (s *core) countMail(tx management.Tx, accounts ...mailAccount) error {
	today := s.Env.Now().Format(time.DateOnly)
	for _, a := range accounts {
		r, err := tx.Get(kindMailCount, "", a.id)
		if err != nil {
			return err
		}
		c, err := management.Decode[mailCount](r)
		if err != nil {
			return err
		}
		if c == nil || c.Day != today {
			c = &mailCount{Day: today}
		}
		if c.N++; c.N > a.limit {
			return management.CodedFault(CodeMailLimit, "", "At most %d mails are sent a day, and today they have been. Try again tomorrow, or invite with \"send_email\": false and hand the link on.", a.limit)
		}
		if err := tx.Put(&management.Record{Kind: kindMailCount, ID: a.id, Data: management.Encode(c)}); err != nil {
			return err
		}
	}
	return nil
}
