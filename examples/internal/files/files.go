// Package files writes files whole: whoever reads one finds the old text or the new
// one, and never a part. The functions are safe for concurrent use; of two that
// replace one file at the same time the later one stays.
package files

import (
	"errors"
	"os"
	"path/filepath"
)

// Create writes a file that must not exist yet; if it does, the error wraps
// fs.ErrExist.
func Create(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// Replace writes a file anew, or for the first time. A link stays one, and what it
// leads to is replaced; permissions stay.
func Replace(path string, text []byte) (err error) {
	mode := os.FileMode(0o644)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		mode = info.Mode().Perm()
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	_, err = file.Write(text)
	if err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
