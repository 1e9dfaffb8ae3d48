package openb_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay/openb"
)

// What a reader accepts, the rest of the library accepts too.

func FuzzReadNodes(f *testing.F) {
	f.Add(nodesCSV)
	f.Add(nodeHeader + "a,1,1,-1,T4\n")
	f.Add(zipped(f, nodesCSV))
	f.Fuzz(func(t *testing.T, text string) {
		nodes, err := openb.ReadNodes(strings.NewReader(text), "fuzz")
		require.Equal(t, err == nil, len(nodes) > 0)
		if err != nil {
			require.ErrorIs(t, err, openb.ErrBadFile)
			return
		}
		_, err = placement.NewCluster(nodes)
		require.NoError(t, err)
	})
}

func FuzzReadTasks(f *testing.F) {
	f.Add(tasksCSV)
	f.Add(fullHeader + "a,12000,16384,1,1000,,LS,Running,0,12537496,0\n")
	f.Add(taskHeader + "a,1,1,1,1500\n")
	f.Add(zipped(f, tasksCSV))
	f.Fuzz(func(t *testing.T, text string) {
		tasks, err := openb.ReadTasks(strings.NewReader(text), "fuzz")
		require.Equal(t, err == nil, len(tasks) > 0)
		if err != nil {
			require.ErrorIs(t, err, openb.ErrBadFile)
			return
		}
		seen := map[string]bool{}
		for _, task := range tasks {
			require.NoError(t, task.Shape.Validate())
			require.NotEmpty(t, task.ID)
			require.False(t, seen[task.ID])
			seen[task.ID] = true
		}
		_, err = openb.TargetMix(tasks, openb.Popularity)
		require.NoError(t, err)
	})
}
