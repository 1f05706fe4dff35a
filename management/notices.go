package management

// Notice is a mail to users about something of a project. What it says may come from
// anybody: whoever writes the mail escapes it.
type Notice struct {
	Project int64
	Users   []int64 // numbers
	Subject string
	Lines   []string
	Links   []Link
}

// Link is one to a page of the server: Path begins with a slash.
type Link struct {
	Label string `json:"label"`
	Path  string `json:"path"`
}
