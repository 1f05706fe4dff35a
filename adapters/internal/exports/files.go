package exports

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/bunting-flags/bunting/management/batchexports"
)

// files is a destination folder below Config.Folder. Path is a folder inside of it; Prefix is
// prepended to the names of the files there.
type files struct {
	format
	Path   string `json:"path"`
	Prefix string `json:"prefix"`

	root  *os.Root
	begin string // prefix of every name
}

func (r *Runner) openFiles(d batchexports.ExportDestination) (destination, error) {
	f := &files{}
	err := settings(d, f)
	if err == nil {
		err = f.check()
	}
	if err == nil {
		f.begin, err = joinPrefix(f.Path, f.Prefix)
	}
	if err != nil {
		return nil, err
	}
	if r.Folder == "" {
		return nil, rejectf("This server has no folder for exports.")
	}
	if err := os.MkdirAll(r.Folder, 0o750); err != nil {
		return nil, f.explain(err)
	}
	if f.root, err = os.OpenRoot(r.Folder); err != nil {
		return nil, f.explain(err)
	}
	return f, nil
}

func (f *files) run(ctx context.Context, rows *rows) (batchexports.RunTotals, error) {
	return writeParts(ctx, rows, f, &f.format, f.begin)
}

func (f *files) create(_ context.Context, name string) (part, error) {
	if err := f.root.MkdirAll(path.Dir(name), 0o750); err != nil {
		return nil, err
	}
	file, err := f.root.OpenFile(name+tempSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o640)
	if err != nil {
		return nil, err
	}
	return &filePart{bufio.NewWriterSize(file, 1<<16), f.root, file, name}, nil
}

func (f *files) list(_ context.Context, prefix string, do func(string)) error {
	dir, err := f.root.Open(path.Dir(prefix))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	for {
		entries, err := dir.ReadDir(1000)
		for _, e := range entries {
			if name := path.Join(path.Dir(prefix), e.Name()); e.Type().IsRegular() && strings.HasPrefix(name, prefix) {
				do(name)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (f *files) remove(_ context.Context, name string) error {
	err := f.root.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (f *files) needs(bool) []string { return nil }
func (f *files) secrets() []string   { return nil }
func (f *files) close()              { _ = f.root.Close() }

func (f *files) steps() []func(context.Context) error {
	test := f.begin + testName
	return []func(context.Context) error{
		func(context.Context) error { return nil }, // opening has checked the prefix
		func(ctx context.Context) error {
			if err := f.root.MkdirAll(path.Dir(test), 0o750); err != nil {
				return err
			}
			return f.list(ctx, test, func(string) {})
		},
		func(ctx context.Context) error {
			p, err := f.create(ctx, test)
			if err != nil {
				return err
			}
			defer p.abort()
			if _, err := io.WriteString(p, "test\n"); err != nil {
				return err
			}
			return p.commit()
		},
		func(ctx context.Context) error { return f.remove(ctx, test) },
	}
}

// explain returns a message without the paths of this machine. Only missing permissions are
// permanent: a full disk, for example, can be emptied.
func (f *files) explain(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		if errors.Is(err, fs.ErrPermission) {
			return rejectf("The server may not write to its folder for exports: %v.", at.Err)
		}
		return errors.New("the folder for exports: " + at.Op + ": " + at.Err.Error())
	}
	return err
}

// filePart is a file that is written under a temporary name.
type filePart struct {
	*bufio.Writer
	root *os.Root
	file *os.File // nil if it is closed
	name string
}

func (p *filePart) commit() error {
	file := p.file
	p.file = nil
	err := p.Flush()
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = p.root.Rename(p.name+tempSuffix, p.name)
	}
	if err != nil {
		_ = p.root.Remove(p.name + tempSuffix)
		return err
	}
	dir, err := p.root.Open(path.Dir(p.name))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (p *filePart) abort() {
	if p.file != nil {
		_ = p.file.Close()
		_ = p.root.Remove(p.name + tempSuffix)
	}
}
