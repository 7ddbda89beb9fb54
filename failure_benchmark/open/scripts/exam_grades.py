"""Grades exams, and prints the grades when the cluster is no longer needed."""

from dask.distributed import Client, LocalCluster, wait


def grade(exam):
    return exam % 6 + 1


def grade_all(exams):
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        graded = client.map(grade, exams)
        wait(graded)
        return graded


if __name__ == "__main__":
    for future in grade_all(range(30)):
        print(future.result())
