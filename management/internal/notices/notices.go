package notices

import "encoding/json"

// Notice is a mail to users about an object of a project. Its texts may contain input of any user,
// so the package that formats the mail must escape them.
type Notice struct {
	Project int64
	Users   []int64 // numbers
	Subject string
	Lines   []string
	Links   []Link
}

// Webhook is a request to an address outside that a user has chosen. It is sent at least once, with
// the same ID in each attempt.
type Webhook struct {
	Project int64
	ID      string
	URL     string
	// Secret is the key of the signature.
	Secret string
	// Body is the JSON document that is sent.
	Body json.RawMessage
}

// Link is a link to a page of the server. Path begins with a slash.
type Link struct {
	Label string `json:"label"`
	Path  string `json:"path"`
}
