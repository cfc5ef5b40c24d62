package uploads

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"eruptcloud/app/fault"
	"eruptcloud/nodeagent/wire"
)

// write keeps a file of an owner under its name, whole or not at all.
func (s *Store) write(owner, name string, body io.Reader) (int64, error) {
	if err := s.room(owner); err != nil {
		return 0, err
	}
	root, err := s.open(filepath.Dir(name))
	if err != nil {
		return 0, err
	}
	defer root.Close()
	draft := name + ".part"
	out, err := root.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, notKept(err)
	}
	claim := &claim{s: s, owner: owner, from: io.LimitReader(body, s.o.MaxFile+1)}
	size, err := io.Copy(out, claim)
	if closed := out.Close(); err == nil && closed != nil {
		err = notKept(closed)
	} else if claim.full != nil {
		err = claim.full
	} else if err != nil {
		err = unreadable(err)
	}
	if err == nil && size > s.o.MaxFile {
		err = fault.New(fault.TooLarge, "the upload is larger than %d bytes", s.o.MaxFile)
	}
	if err == nil {
		if moved := root.Rename(draft, name); moved != nil {
			err = notKept(moved)
		}
	}
	if err != nil {
		_ = root.Remove(draft) // what is left of it is not counted and not served
		s.add(owner, -claim.size)
	}
	return size, err
}

func notKept(err error) error {
	return fault.New(fault.Unavailable, "the file cannot be kept").Because(err)
}

// open opens the folder and makes it and its day where they are missing.
func (s *Store) open(day string) (*os.Root, error) {
	if err := os.MkdirAll(filepath.Join(s.o.Folder, day), 0o700); err != nil {
		return nil, notKept(err)
	}
	root, err := os.OpenRoot(s.o.Folder)
	if err != nil {
		return nil, notKept(err)
	}
	return root, nil
}

// serve answers GET /erupt-attachment/_server/DAY/NAME.
func (s *Store) serve(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		return fault.New(fault.NotAllowed, "%s is not possible here", r.Method)
	}
	if _, err := s.session(r, s.o.Token(r)); err != nil {
		return err
	}
	missing := fault.New(fault.NotFound, "there is no such file")
	name := strings.TrimPrefix(r.URL.Path, wire.AttachmentDir+"/"+Dir+"/")
	if s.o.Folder == "" || !kept.MatchString(name) {
		return missing
	}
	root, err := os.OpenRoot(s.o.Folder)
	if err != nil {
		return missing.Because(err)
	}
	defer root.Close()
	file, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return missing.Because(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return missing.Because(err)
	}
	h := w.Header()
	for kind, ending := range kinds {
		if strings.HasSuffix(name, "."+ending) {
			h.Set("Content-Type", kind)
		}
	}
	h.Set("Cache-Control", "private, max-age=86400") // names are never used twice
	h.Set("ETag", `"`+filepath.Base(name)+`"`)
	h.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", info.ModTime(), file)
	return nil
}
