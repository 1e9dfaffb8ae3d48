package picture_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/gpushare/gpushare/examples/internal/picture"
)

func TestReady(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, prefix := range []string{"", "plot", filepath.Join(dir, "plot"), file} {
		require.NoError(t, picture.Ready(prefix), prefix)
	}
	for prefix, says := range map[string]string{
		dir + "/":      "names a directory",
		"..":           "names a directory",
		dir + "/no/p":  "no such file",
		file + "/plot": "not a directory",
	} {
		err := picture.Ready(prefix)
		require.ErrorContains(t, err, "-plot")
		require.ErrorContains(t, err, says)
	}
}

// Both files have all panels, the same each time, and the axes in line however
// wide the marks beside them are.
func TestSave(t *testing.T) {
	t.Parallel()
	draw := func(prefix string) (svg string) {
		var panels []picture.Panel
		for i, most := range []float64{10, 1e7} {
			p := picture.New([]string{"upper", "lower"}[i], "x", "")
			points, err := plotter.NewLine(plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: most}})
			require.NoError(t, err)
			p.Add(picture.Grid(), points)
			panels = append(panels, picture.Panel{Plot: p, Height: vg.Length(i+1) * vg.Inch})
		}
		files, err := picture.Save(prefix, 4*vg.Inch, panels...)
		require.NoError(t, err)
		require.Equal(t, []string{prefix + ".png", prefix + ".svg"}, files)
		data, err := os.ReadFile(prefix + ".svg")
		require.NoError(t, err)
		return string(data)
	}
	prefix := filepath.Join(t.TempDir(), "p")
	svg := draw(prefix)
	assert.Equal(t, svg, draw(prefix+"2"))

	data, err := os.ReadFile(prefix + ".png")
	require.NoError(t, err)
	img, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	assert.Equal(t, []int{4 * picture.DPI, 3 * picture.DPI}, []int{img.Bounds().Dx(), img.Bounds().Dy()})

	for _, text := range []string{">upper<", ">lower<", "font-family:Liberation Sans,Arial,sans-serif"} {
		assert.Contains(t, svg, text)
	}
	marks := regexp.MustCompile(`<text x="([0-9.]+)"[^>]*>0\.5<`).FindAllStringSubmatch(svg, -1)
	require.Len(t, marks, 2, "one below each panel")
	assert.Equal(t, marks[0][1], marks[1][1])
	for dec := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if !assert.NoError(t, err) {
			break
		}
	}
}

func TestSaveNowhere(t *testing.T) {
	t.Parallel()
	_, err := picture.Save(filepath.Join(t.TempDir(), "no", "p"), vg.Inch, picture.Panel{Plot: picture.New("", "", ""), Height: vg.Inch})
	require.ErrorContains(t, err, "-plot")
}
