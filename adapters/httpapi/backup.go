package httpapi

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// backup is a consistent copy of everything that the server stores: see Backup.
type backup struct {
	Name  string
	Size  int64
	Copy  func(ctx context.Context, w io.Writer) error
	Close func() error
}

// backupFinder returns a copy. If it is nil, backups are not available.
type backupFinder func(context.Context) (*backup, error)

// instanceService handles requests about the whole server.
type instanceService struct {
	authorizeCopy func(context.Context, *management.Caller) error
	backup        backupFinder
	copying       *atomic.Bool
	log           *slog.Logger
}

// instanceEndpoints returns the endpoints for the whole server.
func instanceEndpoints(find backupFinder) []endpoint {
	copying := &atomic.Bool{}
	of := func(s *server) instanceService {
		return instanceService{s.Management.Organizations.CheckBackupAccess, find, copying, s.Logger}
	}
	return resource(atRoot, "instance", of, []row[instanceService]{{do: copyAll, endpoint: endpoint{
		method: http.MethodPost, path: "/instance/backup", keyScope: management.InternalScope, noTimeout: true, kind: "application/vnd.sqlite3",
		uncompressed: true, summary: "Download all stored data as a SQLite file for bunting restore; for users who own every organization",
	}}})
}

// backupPieceTimeout is the time a client has to read one piece of a backup (1 MiB). It limits how
// long a slow client can prevent the log of the database from being truncated.
const backupPieceTimeout = 30 * time.Second

// copyAll streams a copy of the database. It allows one copy at a time. A client can recognize an
// incomplete copy because it has fewer bytes than its Content-Length.
func copyAll(svc instanceService, c *call) (any, error) {
	if err := svc.authorizeCopy(c.ctx, c.scope.Caller); err != nil {
		return nil, err
	}
	if svc.backup == nil {
		return nil, management.Clash("This server stores its data in a database given with --database: back it up with that database's own tools, or copy it with bunting move.")
	}
	if !svc.copying.CompareAndSwap(false, true) {
		c.w.Header().Set("Retry-After", "60")
		return nil, &management.Error{Kind: management.Unavailable, Code: "service_unavailable", Message: "Another backup is in progress. Try again when it has finished."}
	}
	defer svc.copying.Store(false)
	b, err := svc.backup(c.ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = b.Close() }()
	control := http.NewResponseController(c.w)
	_ = control.SetReadDeadline(time.Time{}) // the server's read deadline would end the request
	h := c.w.Header()
	h.Set("Content-Type", "application/vnd.sqlite3")
	h.Set("Content-Length", strconv.FormatInt(b.Size, 10))
	h.Set("Content-Disposition", `attachment; filename="`+b.Name+`"`)
	h.Set("Cache-Control", "no-store")
	svc.log.InfoContext(c.ctx, "sending a backup", "user", c.scope.User.Email, "bytes", b.Size)
	if err := b.Copy(c.ctx, &timedWriter{c.w, control}); err != nil {
		svc.log.ErrorContext(c.ctx, "the backup was interrupted", "error", err)
		// Close the connection, so that the client does not mistake the part for a complete file.
		panic(http.ErrAbortHandler)
	}
	return answer{sent: true}, nil
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
