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

// Backup is all that the server stores, as it was at one moment.
type Backup struct {
	// Name is that of the file to keep it in, Size how many bytes it has.
	Name string
	Size int64
	// Copy writes it; Close has to be called when it is not needed any more.
	Copy  func(ctx context.Context, w io.Writer) error
	Close func() error
}

// instanceService is what is done with the whole server.
type instanceService struct {
	authorizeCopy func(context.Context, *management.Caller) error
	backup        func(context.Context) (*Backup, error) // nil: there is none to be had
	copying       *atomic.Bool
	log           *slog.Logger
}

func instanceOf(s *server) instanceService {
	return instanceService{s.Management.Organizations.CheckBackupAccess, s.Backup, &s.copying, s.Logger}
}

// THE TABLE: the endpoints that are about the whole server.
var instanceEndpoints = resource(atRoot, "instance", instanceOf, []row[instanceService]{{do: copyAll, endpoint: endpoint{
	method: http.MethodPost, path: "/instance/backup", keyScope: management.InternalScope, noTimeout: true, kind: "application/vnd.sqlite3",
	uncompressed: true, summary: "Copy everything that is stored, as a SQLite file that bunting restore reads; for owners of every organization",
}}})

// backupPieceTimeout is how long a client may take for a piece of a backup (1 MiB): a
// database's log grows until the end of it.
const backupPieceTimeout = 30 * time.Second

// copyAll streams a copy of the database, one at a time. A copy that ends early lacks
// bytes of its Content-Length.
func copyAll(svc instanceService, c *call) (any, error) {
	if err := svc.authorizeCopy(c.ctx, c.scope.Caller); err != nil {
		return nil, err
	}
	if svc.backup == nil {
		return nil, management.Clash("There is no file to copy: with --database use the tools of that database, or bunting move.")
	}
	if !svc.copying.CompareAndSwap(false, true) {
		c.w.Header().Set("Retry-After", "60")
		return nil, &management.Error{Kind: management.Unavailable, Code: "service_unavailable", Message: "Another backup is under way."}
	}
	defer svc.copying.Store(false)
	b, err := svc.backup(c.ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = b.Close() }()
	control := http.NewResponseController(c.w)
	_ = control.SetReadDeadline(time.Time{}) // that of the server would end the request
	h := c.w.Header()
	h.Set("Content-Type", "application/vnd.sqlite3")
	h.Set("Content-Length", strconv.FormatInt(b.Size, 10))
	h.Set("Content-Disposition", `attachment; filename="`+b.Name+`"`)
	h.Set("Cache-Control", "no-store")
	svc.log.InfoContext(c.ctx, "a backup is sent", "user", c.scope.User.Email, "bytes", b.Size)
	if err := b.Copy(c.ctx, &timedWriter{c.w, control}); err != nil {
		svc.log.ErrorContext(c.ctx, "the backup was cut off", "error", err)
		panic(http.ErrAbortHandler) // what was sent looks like no whole file
	}
	return answer{sent: true}, nil
}

// timedWriter gives each piece a time of its own.
type timedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (w *timedWriter) Write(p []byte) (int, error) {
	_ = w.control.SetWriteDeadline(time.Now().Add(backupPieceTimeout)) // where a wrapper hides it that of the server holds
	return w.ResponseWriter.Write(p)
}
