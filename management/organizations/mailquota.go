package organizations

import (
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// kindMailCount is the kind of records that count the mails queued on a UTC day: ID is the account.
const kindMailCount = "mail_count"

const (
	// maxMailsPerDay is the greatest number of mails of an organization, and of invitations by a
	// user, on a UTC day.
	maxMailsPerDay = 500
	// maxConfirmationsPerDay is the greatest number of mails that confirm addresses of a user on a
	// UTC day.
	maxConfirmationsPerDay = 20
)

// codeMailLimit is the code of the error for a mail above these limits.
const codeMailLimit = "mail_limit"

// mailCount is the number of mails on one day.
type mailCount struct {
	Day string `json:"day"`
	N   int    `json:"n"`
}

// mailAccount is an account on which mails are counted, with its daily limit.
type mailAccount struct {
	id    string
	limit int
}

// organizationMails is the account of an organization's invitations and mails about new members.
func organizationMails(id string) mailAccount {
	return mailAccount{"organization/" + id, maxMailsPerDay}
}

// noticeMails is a separate account for notices, so that an organization with many alerts can still
// invite.
func noticeMails(id string) mailAccount { return mailAccount{"notices/" + id, maxMailsPerDay} }

// inviterMails is the account of a user's invitations, and userMails that of confirmations of
// addresses.
func inviterMails(uuid string) mailAccount { return mailAccount{"inviter/" + uuid, maxMailsPerDay} }
func userMails(uuid string) mailAccount    { return mailAccount{"user/" + uuid, maxConfirmationsPerDay} }

// countMail counts a mail on each account. It returns an error if one of them has reached its
// limit; the transaction must then be rolled back, or the accounts before it have counted the mail.
func (s *core) countMail(tx management.Tx, accounts ...mailAccount) error {
	today := s.Env.Now().Format(time.DateOnly)
	for _, a := range accounts {
		c, err := management.Found[mailCount](tx.Get(kindMailCount, "", a.id))
		if err != nil {
			return err
		}
		if c == nil || c.Day != today {
			c = &mailCount{Day: today}
		}
		if c.N++; c.N > a.limit {
			return management.CodedFault(codeMailLimit, "", "The limit of %d emails per day has been reached. Try again tomorrow, or invite with \"send_email\": false and pass the link on.", a.limit)
		}
		if err := tx.Put(&management.Record{Kind: kindMailCount, ID: a.id, Data: storage.Encode(c)}); err != nil {
			return err
		}
	}
	return nil
}
