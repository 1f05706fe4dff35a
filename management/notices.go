package management

// Notice is a mail to users about an object of a project. Its texts may contain input of any user,
// so the package that formats the mail must escape them.
type Notice struct {
	Project int64
	Users   []int64 // numbers
	Subject string
	Lines   []string
	Links   []Link
}

// Link is a link to a page of the server. Path begins with a slash.
type Link struct {
	Label string `json:"label"`
	Path  string `json:"path"`
}
