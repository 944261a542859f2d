// SPDX-License-Identifier: MIT
// Floor, camera and curtain of a room; rendering and writing of one frame.
#include "worlds/rooms/scene.h"

#include <math.h>
#include <string.h>

double room_scene_uniform(rng *random, double low, double high)
{
    return low + (high - low) * rng_uniform(random);
}

// Random floor; the camera of the probes in all frames.
void room_scene_init(room_scene *scene, rng *random)
{
    memset(scene, 0, sizeof *scene);
    for (int k = 0; k < 2; k++) scene->floor.offset[k] = rng_uniform(random);
    for (int c = 0; c < 2; c++)
        for (int k = 0; k < 3; k++)
            scene->floor.color[c][k] = room_scene_uniform(random, 0.15, 1.0);
    for (int t = 0; t < ROOM_SCENE_STEPS; t++)
        scene->camera[t] = (raytrace_camera){
            .look = {0.0, 0.0, 0.3}, .distance = 3.0, .azimuth = 90.0, .elevation = -40.0};
}

double room_scene_color_distance(const double a[3], const double b[3])
{
    double largest = 0.0;
    for (int k = 0; k < 3; k++) largest = fmax(largest, fabs(a[k] - b[k]));
    return largest;
}

// Samples until the colour differs by 0.25 from both colours of the floor.
void room_scene_color(double color[3], const raytrace_floor *floor, rng *random)
{
    do
        for (int k = 0; k < 3; k++) color[k] = room_scene_uniform(random, 0.1, 1.0);
    while (room_scene_color_distance(color, floor->color[0]) < 0.25 ||
           room_scene_color_distance(color, floor->color[1]) < 0.25);
}

// Piecewise linear between up, down and up again.
double room_scene_curtain(double *speed, const double down[4], double t)
{
    const double high = 2.2, low = 0.03;
    double z = high, slope = 0.0;
    if (t > down[0] && t < down[1]) {
        slope = (low - high) / (down[1] - down[0]);
        z = high + slope * (t - down[0]);
    } else if (t >= down[1] && t <= down[2]) {
        z = low;
    } else if (t > down[2] && t < down[3]) {
        slope = (high - low) / (down[3] - down[2]);
        z = low + slope * (t - down[2]);
    }
    if (speed) *speed = slope;
    return z;
}

void room_scene_draw(uint8_t *frame, uint8_t *mask, raytrace_view *view, const room_scene *scene,
                     int64_t t)
{
    raytrace_box_scene drawing;
    drawing.count = 0;
    for (int i = 0; i < ROOM_SCENE_BODIES; i++)
        body_add_to_scene(&drawing, &scene->bodies[t][i], (uint8_t)(i + 1));
    raytrace_boxes_view_aim(view, &scene->camera[t], &scene->floor);
    raytrace_boxes_draw(frame, mask, view, &drawing);
}

void room_scene_write(double *objects, float *camera, const room_scene *scene, int64_t t)
{
    for (int i = 0; i < ROOM_SCENE_BODIES; i++)
        body_write(objects + (int64_t)i * PLUMB_ROOM_OBJECT_SIZE, &scene->bodies[t][i]);
    const raytrace_camera *camera_now = &scene->camera[t];
    const double pose[6] = {camera_now->look[0],  camera_now->look[1], camera_now->look[2],
                            camera_now->distance, camera_now->azimuth, camera_now->elevation};
    for (int k = 0; k < 6; k++) camera[k] = (float)pose[k];
}

double room_scene_visible_pixels(const uint8_t *mask, int64_t size, int64_t t, int id)
{
    int64_t count = 0;
    for (int64_t i = 0; i < size * size; i++) count += mask[t * size * size + i] == id;
    return (double)count * 4096.0 / (double)(size * size);
}
