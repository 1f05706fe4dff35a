package manage

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
)

// Backup is a consistent copy of everything that the server stores: see Backup.
type Backup struct {
	Name  string
	Size  int64
	Copy  func(ctx context.Context, w io.Writer) error
	Close func() error
}

// Backups returns a copy. If it is nil, backups are not available.
type Backups func(context.Context) (*Backup, error)

// instanceService handles requests about the whole server.
type instanceService struct {
	authorizeCopy func(context.Context, *management.Caller) error
	backup        Backups
	copying       *atomic.Bool
	log           *slog.Logger
}

// instanceEndpoints returns the endpoints for the whole server.
func instanceEndpoints(find Backups) []frame.Endpoint {
	copying := &atomic.Bool{}
	of := func(s *frame.Server) instanceService {
		return instanceService{s.Management.Organizations.CheckBackupAccess, find, copying, s.Logger}
	}
	return frame.Resource(frame.AtRoot, "instance", of, []frame.Row[instanceService]{{Do: copyAll, Endpoint: frame.Endpoint{
		Method: http.MethodPost, Path: "/instance/backup", KeyScope: management.InternalScope, NoTimeout: true, Kind: "application/vnd.sqlite3",
		Uncompressed: true, Summary: "Download all stored data as a SQLite file for bunting restore; for users who own every organization",
	}}})
}

// backupPieceTimeout is the time a client has to read one piece of a backup (1 MiB). It limits how
// long a slow client can prevent the log of the database from being truncated.
const backupPieceTimeout = 30 * time.Second

// copyAll streams a copy of the database. It allows one copy at a time. A client can recognize an
// incomplete copy because it has fewer bytes than its Content-Length.
func copyAll(svc instanceService, c *frame.Call) (any, error) {
	if err := svc.authorizeCopy(c.Ctx, c.Scope.Caller); err != nil {
		return nil, err
	}
	if svc.backup == nil {
		return nil, management.Clash("This server stores its data in a database given with --database: back it up with that database's own tools, or copy it with bunting move.")
	}
	if !svc.copying.CompareAndSwap(false, true) {
		c.W.Header().Set("Retry-After", "60")
		return nil, &management.Error{Kind: management.Unavailable, Code: "service_unavailable", Message: "Another backup is in progress. Try again when it has finished."}
	}
	defer svc.copying.Store(false)
	b, err := svc.backup(c.Ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = b.Close() }()
	control := http.NewResponseController(c.W)
	_ = control.SetReadDeadline(time.Time{}) // the server's read deadline would end the request
	h := c.W.Header()
	h.Set("Content-Type", "application/vnd.sqlite3")
	h.Set("Content-Length", strconv.FormatInt(b.Size, 10))
	h.Set("Content-Disposition", `attachment; filename="`+b.Name+`"`)
	h.Set("Cache-Control", "no-store")
	svc.log.InfoContext(c.Ctx, "sending a backup", "user", c.Scope.User.Email, "bytes", b.Size)
	if err := b.Copy(c.Ctx, &timedWriter{c.W, control}); err != nil {
		svc.log.ErrorContext(c.Ctx, "the backup was interrupted", "error", err)
		// Close the connection, so that the client does not mistake the part for a complete file.
		panic(http.ErrAbortHandler)
	}
	return frame.Answer{Sent: true}, nil
}

// timedWriter sets a new write deadline before each Write.
type timedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (w *timedWriter) Write(p []byte) (int, error) {
	// If a wrapper hides SetWriteDeadline, the deadline of the server applies.
	_ = w.control.SetWriteDeadline(time.Now().Add(backupPieceTimeout))
	return w.ResponseWriter.Write(p)
}
